//! JSON schemas of what the tools write.

use schemars::generate::SchemaSettings;
pub use schemars::{JsonSchema, Schema};

/// The schema of `T` as it is serialized. Readers must accept new keys, so it allows them.
pub fn derive<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}
