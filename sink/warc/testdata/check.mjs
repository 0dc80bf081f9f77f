// Reads an archive directory with warcio.js, a reader by other hands than the writer's, and compares
// all it holds with what its indexes and records say:
//
//	npm install --prefix /tmp/reader warcio@2
//	NODE_PATH=/tmp/reader/node_modules node check.mjs DIR [VISITS]
//
// VISITS is a file of lines with url, sha256 (of the body without codings) and warc {file, offset,
// length}, such as a crawl's visits.jsonl: every body is then taken from its place in the archive.
// The result is one line of JSON on standard output. Exit status 0: nothing differs; 1: something
// does; 3: warcio is not installed.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import zlib from "node:zlib";

let warcio;
try {
  warcio = createRequire(import.meta.url)("warcio");
} catch {
  console.error("the npm package warcio is not installed where NODE_PATH points");
  process.exit(3);
}

const [dir, visitsFile] = process.argv.slice(2);
const all = new Map(); // record ID -> what is known of the record
const result = { files: 0, records: 0, types: {}, blockDigests: 0, payloadDigests: 0, indexed: 0, sameIndex: 0, sameKey: 0, bareLF: 0, pairs: 0, revisits: 0, visits: 0, bodies: 0, differences: 0, mismatches: [] };

function check(ok, where, what) {
  if (!ok && ++result.differences <= 50) result.mismatches.push(`${where}: ${what}`);
  return ok;
}

// attempt makes what is thrown a difference: what cannot be read at all.
async function attempt(where, f) {
  try {
    return await f();
  } catch (err) {
    check(false, where, err.message);
  }
}

function digest(like, bytes) {
  if (like.startsWith("sha256:")) return "sha256:" + createHash("sha256").update(bytes).digest("hex");
  return "sha1:" + base32(createHash("sha1").update(bytes).digest());
}

// base32 is RFC 4648 section 6, of a multiple of five octets.
function base32(bytes) {
  let out = "";
  for (let i = 0; i < bytes.length; i += 5) {
    let n = 0n;
    for (const b of bytes.subarray(i, i + 5)) n = (n << 8n) | BigInt(b);
    for (let shift = 35n; shift >= 0n; shift -= 5n) out += "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[Number((n >> shift) & 31n)];
  }
  return out;
}

// gzipLength is how many octets the gzip member takes that bytes begin with (RFC 1952 section 2.3).
function gzipLength(bytes) {
  const flags = bytes[3];
  let at = 10;
  if (flags & 4) at += 2 + bytes.readUInt16LE(at);
  for (const flag of [8, 16]) if (flags & flag) at = bytes.indexOf(0, at) + 1;
  if (flags & 2) at += 2;
  const { engine } = zlib.inflateRawSync(bytes.subarray(at), { info: true });
  return at + engine.bytesWritten + 8;
}

function unzstd(bytes) {
  const { status, stdout, stderr } = spawnSync("zstd", ["-dcq"], { input: bytes, maxBuffer: 1 << 30 });
  if (status !== 0) throw new Error(`zstd: ${stderr}`);
  return stdout;
}

// plain is one record's octets, decompressed, when bytes are exactly one member.
function plain(name, bytes, where) {
  if (name.endsWith(".zst")) return unzstd(bytes);
  check(gzipLength(bytes) === bytes.length, where, "is not exactly one gzip member");
  return zlib.gunzipSync(bytes);
}

async function parse(bytes, where) {
  const parser = new warcio.WARCParser([bytes], { parseHttp: true });
  const record = await parser.parse();
  let payload = Buffer.from(await record.readFully(false));
  check((await parser.parse()) === null, where, "holds more than one record");
  const cut = bareLF(bytes);
  if (cut !== undefined) {
    payload = bytes.subarray(cut, bytes.length - "\r\n\r\n".length);
  }
  return { record, payload, lf: cut !== undefined, id: record.warcHeader("WARC-Record-ID") };
}

// bareLF finds the payload of an answer whose header section ends in LF LF, as a server may send it
// (RFC 9112 section 2.2): warcio looks for CR LF alone.
function bareLF(record) {
  const block = record.indexOf("\r\n\r\n") + 4;
  const lf = record.indexOf("\n\n", block);
  const crlf = record.indexOf("\r\n\r\n", block);
  return lf >= 0 && lf < crlf ? lf + 2 : undefined;
}

// unCode undoes content codings, the last first.
function unCode(record, payload) {
  const codings = (record.httpHeaders.headers.get("content-encoding") ?? "").toLowerCase().split(",").map((s) => s.trim());
  for (const coding of codings.reverse()) {
    if (coding === "gzip" || coding === "x-gzip") payload = zlib.gunzipSync(payload);
    else if (coding === "br") payload = zlib.brotliDecompressSync(payload);
    else if (coding === "zstd") payload = unzstd(payload);
    else if (coding === "deflate") payload = zlib.inflateSync(payload);
  }
  return payload;
}

// readThrough reads a file from its beginning and checks every block.
async function readThrough(name, bytes) {
  const parser = new warcio.WARCParser([bytes], { parseHttp: false });
  for await (const record of parser) {
    const block = Buffer.from(await record.readFully(false));
    const { offset, recordLength: length } = parser;
    const get = (field) => record.warcHeader(field) ?? "";
    const where = `${name} at ${offset} (${record.warcType})`;
    result.records++;
    result.types[record.warcType] = (result.types[record.warcType] ?? 0) + 1;
    if (get("WARC-Block-Digest")) result.blockDigests++;
    check(digest(get("WARC-Block-Digest"), block) === get("WARC-Block-Digest"), where, "the block's digest is wrong");
    check(block.length === Number(get("Content-Length")), where, `the block has ${block.length} octets`);
    check(!all.has(get("WARC-Record-ID")), where, "its record ID is not unique");
    all.set(get("WARC-Record-ID"), { name, offset, length, where, get, type: record.warcType, found: 0 });
  }
}

// readIndex follows every line to its record, read by its place alone.
async function readIndex(name, bytes) {
  const indexName = name.replace(/\.warc\.(gz|zst)$/, ".cdxj");
  const lines = readFileSync(join(dir, indexName), "utf8").split("\n").slice(0, -1);
  const own = new Map();
  for (const line of lines) {
    const [, key, timestamp, json] = /^(\S+) (\S+) (.*)$/.exec(line);
    const e = { key, timestamp, ...JSON.parse(json) };
    const offset = Number(e.offset);
    const where = `${indexName}: ${e.url} at ${offset}`;
    own.set(offset, e);
    await attempt(where, () => lookUp(name, bytes, e, where));
  }
  return own;
}

// lookUp reads one record by its place.
async function lookUp(name, bytes, e, where) {
  const { record, payload, lf, id } = await parse(plain(name, bytes.subarray(Number(e.offset), Number(e.offset) + Number(e.length)), where), where);
  const known = all.get(id);
  if (!check(known !== undefined && known.name === e.filename, where, "is no record of the file")) return;
  known.found++;
  Object.assign(known, { offset: Number(e.offset), length: Number(e.length) }); // of zstd they were those without it
  result.indexed++;
  if (lf) result.bareLF++;
  check(e.url === record.warcTargetURI, where, `is ${record.warcTargetURI}`);
  check(e.digest === (record.warcPayloadDigest ?? ""), where, "has another digest");
  check(e.status === String(record.httpHeaders.statusCode), where, `has the status ${record.httpHeaders.statusCode}`);
  if (record.warcType === "response") {
    result.payloadDigests++;
    check(digest(e.digest, payload) === e.digest, where, "the payload's digest is wrong");
  } else check(record.warcType === "revisit" && payload.length === 0, where, "is neither response nor revisit");
}

// compareIndex compares the index with the one that the reader makes itself of the same file.
async function compareIndex(name, bytes, own) {
  const indexer = new warcio.CDXIndexer({ format: "cdxj" });
  let n = 0;
  for await (const e of indexer.iterIndex([{ filename: name, reader: [bytes] }])) {
    const mine = own.get(e.offset);
    const where = `${name}: ${e.url} at ${e.offset}`;
    if (!check(mine !== undefined, where, "is not in the index")) continue;
    n++;
    const want = { key: e.urlkey, timestamp: e.timestamp, url: e.url, mime: (e.mime || "unk").toLowerCase(), status: String(e.status), length: String(e.length), filename: e.filename };
    // The reader's keys are not as canonical as those of the Internet Archive, which the index has.
    if (/%|\/\/|\/$|\/\?|\?$/.test(want.key)) delete want.key;
    else result.sameKey++;
    for (const [field, value] of Object.entries(want)) check(mine[field] === value, where, `${field} is ${mine[field]}, the reader says ${value}`);
    check(mine.digest.split(":")[1] === e.digest, where, "digest");
  }
  result.sameIndex += n;
  check(n === own.size, name, `the reader indexes ${n} records, the index holds ${own.size}`);
}

function checkLinks() {
  for (const r of all.values()) {
    const answer = r.type === "response" || r.type === "revisit";
    check(r.found === (answer ? 1 : 0), r.where, `is in the index ${r.found} times`);
    for (const field of ["WARC-Warcinfo-ID", "WARC-Concurrent-To", "WARC-Refers-To"]) {
      if (r.get(field)) check(all.has(r.get(field)), r.where, `${field} is not in the archive`);
    }
    const other = all.get(r.get("WARC-Concurrent-To"));
    if (r.type === "request" && other) {
      result.pairs++;
      check(other.get("WARC-Concurrent-To") === r.get("WARC-Record-ID"), r.where, "its answer does not name it");
      for (const field of ["WARC-Target-URI", "WARC-Date", "WARC-IP-Address"]) check(other.get(field) === r.get(field), r.where, `${field} is another than its answer's`);
    }
    if (r.type === "revisit") {
      result.revisits++;
      if (r.get("WARC-Profile").endsWith("/server-not-modified")) continue; // what it refers to may be elsewhere
      const first = all.get(r.get("WARC-Refers-To"));
      check(first?.type === "response", r.where, "refers to no response");
      for (const [mine, its] of [["WARC-Payload-Digest", "WARC-Payload-Digest"], ["WARC-Refers-To-Target-URI", "WARC-Target-URI"], ["WARC-Refers-To-Date", "WARC-Date"]]) {
        check(first?.get(its) === r.get(mine), r.where, `${mine} is another than of what it refers to`);
      }
    }
  }
}

// checkVisits takes the body of every visit from the archive.
async function checkVisits(files) {
  for (const line of readFileSync(visitsFile, "utf8").split("\n").slice(0, -1)) {
    const visit = JSON.parse(line);
    const where = `${visit.url}, ${visit.warc?.file} at ${visit.warc?.offset}`;
    if (visit.warc) await attempt(where, () => checkVisit(files, visit, where));
  }
}

async function checkVisit(files, visit, where) {
  const at = ({ name, offset, length }) => plain(name, files.get(name).subarray(offset, offset + length), where);
  let read = await parse(at({ ...visit.warc, name: visit.warc.file }), where);
  result.visits++;
  // A URI has octets percent-encoded that a URL may have.
  check(unescape(read.record.warcTargetURI) === unescape(visit.url), where, `is ${read.record.warcTargetURI}`);
  if (read.record.warcType === "revisit" && !read.record.warcHeader("WARC-Refers-To")) return;
  if (read.record.warcType === "revisit") read = await parse(at(all.get(read.record.warcHeader("WARC-Refers-To"))), where);
  if (!visit.sha256 || visit.truncated || read.record.warcType !== "response") return;
  result.bodies++;
  check(createHash("sha256").update(unCode(read.record, read.payload)).digest("hex") === visit.sha256, where, "the body is another");
}

const files = new Map();
for (const name of readdirSync(dir).filter((name) => /\.warc\.(gz|zst)$/.test(name)).sort()) {
  const bytes = readFileSync(join(dir, name));
  files.set(name, bytes);
  result.files++;
  await attempt(name, () => (name.endsWith(".zst") ? readZstd(name, bytes) : readGzip(name, bytes)));
}

async function readGzip(name, bytes) {
  await readThrough(name, bytes);
  await compareIndex(name, bytes, await readIndex(name, bytes));
}

// readZstd reads a file that warcio does not know the compression of: as a whole without it, and by
// the index as it is.
async function readZstd(name, bytes) {
  await readThrough(name, unzstd(bytes));
  await readIndex(name, bytes);
}

checkLinks();
if (visitsFile) await checkVisits(files);
console.log(JSON.stringify(result));
process.exit(result.differences ? 1 : 0);
