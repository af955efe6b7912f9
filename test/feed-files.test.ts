/** Sources of a snapshot's bytes: URLs and files, including damaged and malicious ones. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { appendFile, type FileHandle, open, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { generate } from 'selfsigned';
import { download } from '../src/features/feeds/download.ts';
import { newestFile, openSnapshot } from '../src/features/feeds/snapshot-file.ts';
import { FeedsFileError, readFeedsFile } from '../src/features/feeds/source-watch.ts';
import { collectGarbage } from './support/garbage.ts';
import { listenOnLoopback } from './support/loopback.ts';
import { emptyDirectory } from './support/servers.ts';

interface ZipEntry {
  readonly name: string;
  readonly bytes: Buffer;
  /** The size and checksum that the directory states, true or not. */
  readonly claimedSize?: number;
  readonly claimedSum?: number;
}

/** A ZIP file as PKWARE's application note defines it (sections 4.3.7, 4.3.12, 4.3.16). */
function zipOf(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, bytes, claimedSize = bytes.length, claimedSum = crc32(bytes) } of entries) {
    const packed = deflateRawSync(bytes);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    // Flag: names are UTF-8.
    fields.writeUInt16LE(0x800, 2);
    fields.writeUInt16LE(8, 4);
    fields.writeUInt32LE(claimedSum, 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(claimedSize, 18);
    fields.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from(name), packed]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), fields, place, Buffer.from(name)]));
    parts.push(local);
    offset += local.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, listed, Buffer.from('PK\x05\x06'), end]);
}

async function contentOf(path: string): Promise<string> {
  const file = await openSnapshot(path);
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of file.content()) chunks.push(chunk);
  } finally {
    await file.close();
  }
  return Buffer.concat(chunks).toString();
}

test('a plain file, a gzip file and a ZIP file that also contains photos are read alike', async (t) => {
  const path = join(await emptyDirectory(t), 'snapshot');
  const bytes = Buffer.from('"a"!#"b"\n'.repeat(100_000));
  const photo = { name: 'photo.jpg', bytes: Buffer.alloc(10) };
  const zips = [
    [photo, { name: 'export/ANNONCES.CSV', bytes }, { name: 'other.csv', bytes: photo.bytes }],
    [{ name: 'flux.xml', bytes }, photo],
  ];
  for (const written of [bytes, gzipSync(bytes), ...zips.map(zipOf)]) {
    await writeFile(path, written);
    assert.equal(await contentOf(path), bytes.toString());
  }
});

test('a file that is truncated, damaged, invalid or in UTF-16 is refused with a reason', async (t) => {
  const path = join(await emptyDirectory(t), 'snapshot');
  const bytes = Buffer.from(Array.from({ length: 9_999 }, (_, at) => `${at}`).join());
  const named = (changes = {}) => zipOf([{ name: 'Annonces.csv', bytes, ...changes }]);
  const flipped = named();
  flipped[500] = (flipped[500] as number) ^ 0xff;
  const cases: readonly (readonly [Buffer, RegExp])[] = [
    [named().subarray(0, 9_000), /The ZIP is cut off or damaged/],
    [named().subarray(0, -1), /The ZIP is cut off or damaged/],
    [flipped, /The ZIP is cut off or damaged/],
    [named({ claimedSum: 1 }), /its checksum does not match/],
    [named({ claimedSize: 1 }), /The ZIP is cut off or damaged \(too many bytes/],
    [zipOf([]), /The ZIP has no file of adverts, such as Annonces\.csv/],
    [zipOf(['a.csv', 'b.csv'].map((name) => ({ name, bytes }))), /has several files \(a\.csv, b\.csv\)/],
    [zipOf(['\x1b[2Ja.csv', 'b\n\x7f.csv'].map((name) => ({ name, bytes }))), /\(\ufffd\[2Ja\.csv, b\ufffd+\.csv\)/],
    [gzipSync(bytes).subarray(0, -9), /cut off or damaged/],
    [Buffer.from('\ufeff"a";"b"', 'utf16le'), /^The file is UTF-16\. Export it again as UTF-8\.$/],
    [gzipSync(Buffer.from('\ufeff"a";"b"', 'utf16le').swap16()), /^The file is UTF-16\./],
  ];
  for (const [written, sentence] of cases) {
    await writeFile(path, written);
    await assert.rejects(contentOf(path), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'SNAPSHOT_REFUSED');
      assert.match(error.message, sentence);
      return true;
    });
  }
});

test('a decompression bomb is refused at the size limit, and reading it uses little memory', async (t) => {
  const path = join(await emptyDirectory(t), 'bomb.gz');
  // Concatenated gzip files are a valid gzip file, here 3 GiB in 3 MiB.
  const part = gzipSync(Buffer.alloc(64 * 1_024 * 1_024));
  await writeFile(path, Buffer.concat(Array.from({ length: 48 }, () => part)));
  const file = await openSnapshot(path);
  t.after(() => file.close());
  // Memory in use after a garbage collection.
  const stored = (): number => {
    collectGarbage();
    const { arrayBuffers, heapUsed } = process.memoryUsage();
    return arrayBuffers + heapUsed;
  };
  const before = stored();
  let most = 0;
  let chunks = 0;
  await assert.rejects(async () => {
    for await (const _ of file.content()) if (chunks++ % 1_024 === 0) most = Math.max(most, stored());
  }, /The file contains more than 2147483648 bytes/);
  assert.ok(chunks > 10_240 && most - before < 32 * 1_024 * 1_024, `${chunks} chunks, ${most - before} bytes`);
});

test('links, pipes and hidden files are not read, and a folder means its newest file', async (t) => {
  const folder = await emptyDirectory(t);
  const [file, older, link, pipe] = ['file', 'older', 'link', 'pipe'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ];
  await symlink('/etc/passwd', link);
  execFileSync('mkfifo', [pipe]);
  assert.equal(await newestFile(folder), null);
  await writeFile(older, 'x');
  await utimes(older, 1, 1);
  await writeFile(file, 'y');
  await writeFile(join(folder, '.part'), 'z');
  assert.equal((await newestFile(folder))?.path, file);
  await assert.rejects(openSnapshot(link), /link is a link\. Give the path of its file\./);
  await assert.rejects(openSnapshot(pipe), /pipe is not a regular file/);
  await assert.rejects(openSnapshot(folder), /is not a regular file/);
});

test('a file that changes while it is read is refused', async (t) => {
  const path = join(await emptyDirectory(t), 'snapshot');
  await writeFile(path, Buffer.alloc(1_000_000, 0x41));
  const file = await openSnapshot(path);
  t.after(() => file.close());
  const content = file.content();
  await content.next();
  await appendFile(path, 'more');
  await assert.rejects(async () => {
    for await (const _ of content);
  }, /The file changed while it was read/);
});

test('if the system cannot read a gzip file, its content rejects with the error, and the process continues', async (t) => {
  const path = join(await emptyDirectory(t), 'snapshot.gz');
  await writeFile(path, gzipSync(randomBytes(1_000_000)));
  const handle = await open(path);
  const methods = Object.getPrototypeOf(handle) as Pick<FileHandle, 'read'>;
  await handle.close();
  const { read } = methods;
  t.after(() => Object.assign(methods, { read }));
  const file = await openSnapshot(path);
  t.after(() => file.close());
  const content = file.content();
  await content.next();
  const failure = Object.assign(new Error('i/o error, read'), { code: 'EIO', syscall: 'read' });
  Object.assign(methods, { read: () => Promise.reject(failure) });
  await assert.rejects(async () => {
    for await (const _ of content);
  }, failure);
});

async function serve(t: TestContext, answer: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listenOnLoopback(t, createServer(answer))}`;
}

const stopping = new AbortController().signal;
const inside = { allowPrivateNetworks: true, stopping };

test('a download sends the last ETag, and an unchanged file is not read', async (t) => {
  const url = await serve(t, (request, response) => {
    if (request.url === '/') return response.writeHead(302, { location: '/file' }).end();
    if (request.headers['if-none-match'] === '"1"') return response.writeHead(304).end();
    return response.writeHead(200, { etag: '"1"', 'last-modified': 'Tue, 10 Mar 2026 08:00:00 GMT' }).end('content');
  });
  const first = await download(url, null, inside);
  assert.equal(await contentOf(first?.path as string), 'content');
  await first?.dispose();
  await assert.rejects(openSnapshot(first?.path as string), { code: 'ENOENT' });
  assert.equal(await download(url, first?.version as string, inside), null);
});

test('after `vigie feed` has read a local file of a source, the next download of the source succeeds', async (t) => {
  const url = await serve(t, (_, response) => response.end('content'));
  const path = join(await emptyDirectory(t), 'snapshot');
  await writeFile(path, 'content');
  const file = await openSnapshot(path);
  await file.close();
  const next = await download(url, file.version, inside);
  assert.equal(await contentOf(next?.path as string), 'content');
  await next?.dispose();
});

test('a file of 50 MB is downloaded completely, plain or gzip, with or without a length', async (t) => {
  const content = Buffer.alloc(50_000_000, 'annonce;');
  // Not deflated, so the download is as long as the plain file.
  const files = { plain: content, gzip: gzipSync(content, { level: 0 }) };
  const url = await serve(t, (request, response) => {
    const [, kind, length] = (request.url as string).split('/');
    const file = files[kind as keyof typeof files];
    response.writeHead(200, length === 'known' ? { 'content-length': file.length } : {}).end(file);
  });
  for (const path of ['plain/known', 'plain/unknown', 'gzip/known', 'gzip/unknown']) {
    let bytes = 0;
    const onBytes = (received: number): void => void (bytes = received);
    const file = await download(`${url}/${path}`, null, { ...inside, onBytes });
    const opened = await openSnapshot(file?.path as string);
    for await (const _ of opened.content());
    assert.equal(opened.hash(), createHash('sha256').update(content).digest('base64url'), path);
    assert.ok(bytes >= content.length, path);
    await opened.close();
    await file?.dispose();
  }
});

test('a slow server is disconnected by the minimum rate, and by the deadline even after garbage collection', async (t) => {
  const url = await serve(t, (_, response) => {
    const dripping = setInterval(() => {
      response.write('x');
      collectGarbage();
    }, 5);
    response.once('close', () => clearInterval(dripping));
  });
  const options = { ...inside, rateCheckEveryMs: 200 };
  await assert.rejects(download(url, null, options), /the server sends too slowly: \d+ bytes in 0\.2 s/);
  await assert.rejects(download(url, null, { ...inside, timeoutMs: 300 }), /the download took longer than 300 ms/);
});

test('the user and password of an address are sent only to its host, and appear in no message', async (t) => {
  const path = join(await emptyDirectory(t), 'feeds.json');
  const seen: unknown[] = [];
  const other = await serve(t, ({ headers }, response) => {
    seen.push(headers.authorization);
    response.end('content');
  });
  const url = await serve(t, ({ headers, url: asked }, response) => {
    seen.push(headers.authorization);
    if (asked === '/moved') response.writeHead(302, { location: other }).end();
    else response.writeHead(asked === '/unchanged' ? 304 : 401).end();
  });
  const secret = url.replace('//', '//agency:p%40ss%3A%C3%A9@');
  const every = { format: 'poliris', every: '1d' };
  await writeFile(path, JSON.stringify({ a: { ...every, url: `${secret}/moved` } }));
  const [source] = readFeedsFile(path);
  const basic = `Basic ${Buffer.from('agency:p@ss:é').toString('base64')}`;
  assert.deepEqual([source?.url, source?.authorization], [`${url}/moved`, basic]);
  const options = { ...inside, authorization: basic };
  await (await download(`${url}/moved`, null, options))?.dispose();
  assert.deepEqual(seen, [basic, undefined]);
  await assert.rejects(download(`${url}/file`, null, options), {
    message: `Cannot download ${url}/file: the server answered 401.`,
  });
  // Otherwise a source that delivers nothing would not count as silent.
  for (const version of [null, '{}'])
    await assert.rejects(
      download(`${url}/unchanged`, version, options),
      /answered 304 to a request without conditions/,
    );
  await writeFile(path, `{"a": {"format": "poliris", "url": "${secret}/file" x`);
  assert.throws(
    () => readFeedsFile(path),
    (error: Error) => !/p%40ss/.test(String(error.cause) + error.message),
  );
  await writeFile(path, JSON.stringify({ a: { ...every, url: 'https://agency:100%@x.example/' } }));
  assert.throws(() => readFeedsFile(path), /a\.url must have "%" in its user and password written as "%25"/);
});

test('a download with a bad redirect, status, size, duration or address is refused with a reason', async (t) => {
  let reached = 0;
  const target = await serve(t, (_, response) => {
    reached += 1;
    response.end('secret');
  });
  const url = await serve(t, (request, response) => {
    if (request.url === '/file') response.writeHead(301, { location: 'file:///etc/passwd' }).end();
    else if (request.url === '/loop') response.writeHead(301, { location: '/loop' }).end();
    else if (request.url?.startsWith('/far')) response.writeHead(301, { location: `${request.url}r` }).end();
    else if (request.url === '/missing') response.writeHead(404).end('x'.repeat(100_000));
    else if (request.url === '/large') response.end('x'.repeat(5_000));
    else if (request.url === '/endless') response.write('x');
  });
  const refused = async (path: string, sentence: RegExp, options = {}) =>
    assert.rejects(download(url + path, null, { ...inside, ...options }), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'SNAPSHOT_REFUSED');
      assert.match(error.message, sentence);
      return true;
    });
  await refused('/file', /must start with .http/);
  await refused('/loop', /redirect loop/i);
  await refused('/far', /redirected more than 5 times/);
  await refused('/missing', /the server answered 404/);
  await refused('/large', /more than 1000 bytes/, { bytesMax: 1_000 });
  await refused('/endless', /took longer than 200 ms/, { timeoutMs: 200 });
  // As the role is configured: neither plain http nor private addresses are allowed.
  await refused('/', /plain http is not allowed/, { allowPrivateNetworks: false });
  const outside = { allowPrivateNetworks: false, stopping };
  for (const address of [
    target.replace('http', 'https'),
    'https://[::1]/',
    'https://169.254.169.254/latest',
    'https://localhost/',
  ])
    await assert.rejects(download(address, null, outside), { code: 'SNAPSHOT_REFUSED' });
  assert.equal(reached, 0);
});

test('a redirect from a public address to a private one is not followed, even over TLS', async (t) => {
  const pems = await generate([{ name: 'commonName', value: 'agency.test' }], {
    extensions: [
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'agency.test' },
          { type: 7, ip: '127.0.0.2' },
        ],
      },
    ],
  });
  const serveTls = async (host: string, answer: RequestListener): Promise<number> => {
    const server = createTlsServer({ key: pems.private, cert: pems.cert }, answer).listen(0, host);
    await new Promise((resolve) => server.once('listening', resolve));
    t.after(() => server.close());
    t.after(() => server.closeAllConnections());
    return (server.address() as AddressInfo).port;
  };
  let reached = 0;
  const inner = await serveTls('127.0.0.2', (_, response) => {
    reached += 1;
    response.end('secret');
  });
  const outer = await serveTls('127.0.0.1', ({ url }, response) => {
    const host = url === '/named' ? 'inside.test' : '127.0.0.2';
    if (url === '/file') response.end('content');
    else response.writeHead(302, { location: url === '/moved' ? '/file' : `https://${host}:${inner}/` }).end();
  });
  const options = {
    ...{ allowPrivateNetworks: false, stopping, authorities: pems.cert },
    isPublic: (address: string) => address === '127.0.0.1',
    resolveName: async (name: string) => [
      { address: name === 'inside.test' ? '127.0.0.2' : '127.0.0.1', family: 4 as const },
    ],
  };
  const moved = await download(`https://agency.test:${outer}/moved`, null, options);
  assert.equal(await contentOf(moved?.path as string), 'content');
  await moved?.dispose();
  for (const path of ['/named', '/literal'])
    await assert.rejects(download(`https://agency.test:${outer}${path}`, null, options), /127\.0\.0\.2/, path);
  assert.equal(reached, 0);
});

test('every mistake in a file of sources is reported', async (t) => {
  const path = join(await emptyDirectory(t), 'feeds.json');
  const read = async (value: unknown) => {
    await writeFile(path, JSON.stringify(value));
    return readFeedsFile(path);
  };
  assert.deepEqual(await read({ a: { format: 'poliris', path: 'in', every: '1d' } }), [
    {
      name: 'a',
      format: 'poliris',
      mapping: null,
      path: join(path, '../in'),
      url: null,
      authorization: null,
      everyMs: 86_400_000,
    },
  ]);
  const wrong = {
    'Not A Name': { format: 'poliris', path: 'x', every: '1d' },
    b: { format: 'poliris', every: 'daily' },
    c: { format: 'mapping', url: 'ftp://x', every: '1h' },
  };
  await assert.rejects(read(wrong), (error: Error) => {
    assert.ok(error instanceof FeedsFileError);
    for (const words of [/Not A Name/, /b\.every must be minutes, hours or days/, /c\.url must be an address/])
      assert.match(error.message, words);
    return true;
  });
  assert.throws(() => readFeedsFile('/nowhere/feeds.json'), FeedsFileError);
});
