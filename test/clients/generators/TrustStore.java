import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;

/** Converts a PEM file of certificates to a trust store for Java. */
public class TrustStore {
  public static void main(String[] args) throws Exception {
    KeyStore store = KeyStore.getInstance("JKS");
    store.load(null, null);
    try (FileInputStream bundle = new FileInputStream(args[0])) {
      for (Certificate certificate : CertificateFactory.getInstance("X.509").generateCertificates(bundle))
        store.setCertificateEntry(String.valueOf(store.size()), certificate);
    }
    try (FileOutputStream file = new FileOutputStream(args[1])) {
      store.store(file, "changeit".toCharArray());
    }
  }
}
