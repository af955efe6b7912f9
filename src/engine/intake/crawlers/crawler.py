import asyncio, hashlib, json, nats, os, sys, time, urllib.parse

async def crawl():
    url = os.environ["NATS_URL"]
    nc = await nats.connect(url, inbox_prefix=f"_INBOX_{urllib.parse.urlsplit(url).username}")
    sent, refused, last_at = set(), [], time.monotonic()

    async def hear(message):
        nonlocal last_at
        rejection = json.loads(message.data)
        if rejection["messageId"] not in sent: return  # sent by another crawler
        refused.append(rejection)
        print(rejection["messageId"], "refused:", rejection["reason"], file=sys.stderr, flush=True)
        last_at = time.monotonic()

    await nc.subscribe("adverts-rejected.>", cb=hear)
    while line := (await asyncio.to_thread(sys.stdin.buffer.readline)).strip():
        message_id = hashlib.sha256(line).hexdigest()  # equal messages have equal ids
        sent.add(message_id)
        subject = "adverts." + json.loads(line)["property"]["uuid"]
        ack = await nc.jetstream().publish(subject, line, headers={"Nats-Msg-Id": message_id})
        if ack.duplicate: print(message_id, "is already in the stream", file=sys.stderr, flush=True)
        last_at = time.monotonic()
    while time.monotonic() - last_at < 2:  # wait for late rejections
        await asyncio.sleep(0.1)
    await nc.close()
    return 1 if refused else 0

sys.exit(asyncio.run(crawl()))
