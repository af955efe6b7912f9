package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

const secret = "SECRET"

func isGenuine(id, timestamp string, body []byte, signatures string) bool {
	sentAt, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || math.Abs(float64(time.Now().Unix()-sentAt)) > 300 {
		return false
	}
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	right := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, sent := range strings.Fields(signatures) {
		if hmac.Equal([]byte(sent), []byte(right)) {
			return true
		}
	}
	return false
}

func main() {
	body, _ := io.ReadAll(os.Stdin)
	if !isGenuine(os.Getenv("WEBHOOK_ID"), os.Getenv("WEBHOOK_TIMESTAMP"), body, os.Getenv("WEBHOOK_SIGNATURE")) {
		os.Exit(1)
	}
}
