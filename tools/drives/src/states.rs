//! The order in which targets are checked, confirmed and opened, as types: a [`Target`] becomes [`Checked`], [`Confirmed`],
//! and at last an open [`Device`], by which alone it is overwritten.
//!
//! ```
//! squall_drives::Confirmed::open;
//! ```
//! Nothing else can be opened for that:
//! ```compile_fail
//! squall_drives::Checked::open;
//! ```
//! ```compile_fail
//! squall_drives::io::Device::open;
//! ```

use squall_tool_base::Failure;

use crate::confirm::{self, Consent, on_terminal};
use crate::erase::{self, SupportedErases};
use crate::io::{Access, CLAIM_TIMEOUT, Device, Direct};
use crate::{Purpose, Target, guards};

/// Targets that may be overwritten.
pub struct Checked {
    targets: Vec<Target>,
    purpose: Purpose,
}

/// Targets that the user means.
pub struct Confirmed(Checked);

/// The user's consent to targets that are found later.
pub struct StandingConsent(Purpose);

impl Checked {
    /// Fails unless all of `targets` may be overwritten, and nobody has claimed them. Waits as long for the claims of
    /// others as opening does: udev keeps a drive locked while it reads it.
    pub fn new(targets: Vec<Target>, purpose: Purpose) -> Result<Checked, Failure> {
        let uses = guards::uses_after(CLAIM_TIMEOUT, &targets, &purpose)?;
        guards::refuse(&targets, uses)?;
        Ok(Checked { targets, purpose })
    }

    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// How each target can erase itself. Only one that is open for writing can be asked; it is closed again.
    pub fn supported_erases(
        &self,
        how: fn(&Target) -> Access,
        direct: Direct,
    ) -> Result<Vec<SupportedErases>, Failure> {
        Ok(erase::supported_by_all(&self.open(how, direct)?))
    }

    /// Fails unless the user confirms each target for the purpose.
    pub fn confirm(self, consent: &Consent) -> Result<Confirmed, Failure> {
        confirm::check(&self.targets, consent)?;
        if !consent.yes {
            on_terminal()?.confirm(&self.targets, consent, &self.purpose)?;
        }
        Ok(Confirmed(self))
    }

    /// Fails unless the user types `expected` as the answer to `question`, which is about others, too, that are found later.
    pub fn confirm_with_others(
        self,
        consent: &Consent,
        question: &str,
        expected: &str,
    ) -> Result<(Confirmed, StandingConsent), Failure> {
        confirm::check(&self.targets, consent)?;
        if !consent.yes {
            on_terminal()?.ask(question, expected)?;
        }
        let standing = StandingConsent(self.purpose);
        Ok((Confirmed(self), standing))
    }

    fn open(&self, how: fn(&Target) -> Access, direct: Direct) -> Result<Vec<Device>, Failure> {
        let open = |target: &Target| Device::open(target.clone(), how(target), direct);
        self.targets.iter().map(open).collect()
    }
}

impl Confirmed {
    /// Opens all targets exclusively, before anything is written to one of them. The guards check them again, because the
    /// question took time.
    pub fn open(self, how: fn(&Target) -> Access, direct: Direct) -> Result<Vec<Device>, Failure> {
        let devices = self.0.open(how, direct)?;
        let Checked { targets, purpose } = &self.0;
        guards::refuse(targets, guards::visible_uses(targets, purpose)?)?;
        Ok(devices)
    }
}

impl StandingConsent {
    /// Checks and opens a target that was found later. Gives the reason if it must not be overwritten.
    pub fn open(
        &self,
        target: Target,
        how: fn(&Target) -> Access,
        direct: Direct,
    ) -> Result<Result<Device, String>, Failure> {
        let alone = std::slice::from_ref(&target);
        let first = |uses: Vec<Vec<String>>| uses.into_iter().flatten().next();
        if let Some(reason) = first(guards::uses(alone, &self.0)?) {
            return Ok(Err(reason));
        }
        let device = Device::open(target.clone(), how(&target), direct)?;
        match first(guards::visible_uses(alone, &self.0)?) {
            Some(reason) => Err(Failure::Runtime(reason)),
            None => Ok(Ok(device)),
        }
    }
}
