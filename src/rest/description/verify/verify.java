import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

class Webhook {
  static final byte[] KEY = Base64.getDecoder().decode("SECRET".substring("whsec_".length()));

  static boolean isGenuine(String id, String timestamp, byte[] body, String signatures) throws Exception {
    if (!timestamp.matches("[0-9]{1,18}")) return false;
    if (Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(timestamp)) > 300) return false;
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(KEY, "HmacSHA256"));
    mac.update((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
    byte[] right = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(StandardCharsets.UTF_8);
    for (String sent : signatures.split(" ")) {
      if (MessageDigest.isEqual(sent.getBytes(StandardCharsets.UTF_8), right)) return true;
    }
    return false;
  }

  public static void main(String[] args) throws Exception {
    var sent = System.getenv();
    byte[] body = System.in.readAllBytes();
    boolean ok = isGenuine(sent.get("WEBHOOK_ID"), sent.get("WEBHOOK_TIMESTAMP"), body, sent.get("WEBHOOK_SIGNATURE"));
    System.exit(ok ? 0 : 1);
  }
}
