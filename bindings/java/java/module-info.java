/** squall for Java. */
module org.squallrng {
    exports org.squallrng;

    provides java.security.Provider with org.squallrng.SquallProvider;
}
