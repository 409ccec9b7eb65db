/** squall for Java. */
module org.squallrng {
    requires static java.instrument;

    exports org.squallrng;

    provides java.security.Provider with org.squallrng.SquallProvider;
}
