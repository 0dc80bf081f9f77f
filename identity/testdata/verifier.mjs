// A site that lets in signed requests only. It shares no code with the package that signs: it is written from
// RFC 9421 and httpsig-protocol-01, for Node's crypto. Usage: node verifier.mjs CERT KEY DIRECTORY AGENT SKEW
import { createHash, createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";

const [cert, key, directory, agentURL, skew] = process.argv.slice(2);
const clock = () => Date.now() / 1000 + Number(skew);
const keys = new Map();
for (const { kty, crv, x } of JSON.parse(readFileSync(directory)).keys) {
  const id = createHash("sha256").update(JSON.stringify({ crv, kty, x })).digest("base64url");
  keys.set(id, createPublicKey({ key: { kty, crv, x }, format: "jwk" }));
}
const nonces = new Set();

function check(req) {
  const field = (name) => req.headers[name] ?? "";
  const input = /^([a-z*][a-z0-9_.*-]*)=(\(([^)]*)\)((?:;[a-z]+=(?:"[^"]*"|\d+))*))$/.exec(field("signature-input"));
  if (!input) return "no signature";
  const [, label, params, list, rest] = input;
  const param = (name) => new RegExp(`;${name}=(?:"([^"]*)"|(\\d+))`).exec(rest)?.slice(1).find((v) => v !== undefined);
  const signature = new RegExp(`^${label}=:([A-Za-z0-9+/]{86}==):$`).exec(field("signature"));
  const agent = new RegExp(`^${label}=("https://[^"]+")$`).exec(field("signature-agent"));
  if (!signature || !agent) return "fields do not belong together";
  const values = {
    '"@method"': req.method,
    '"@authority"': field("host").toLowerCase().replace(/:443$/, ""),
    '"@path"': req.url.split("?")[0],
    '"@query"': "?" + (req.url.split("?")[1] ?? ""),
    '"user-agent"': field("user-agent"),
    [`"signature-agent";key="${label}"`]: agent[1],
  };
  const covered = list.split(" ");
  if (covered.some((c) => !(c in values))) return "an unknown component is covered";
  for (const c of ['"@method"', '"@authority"', '"@path"', `"signature-agent";key="${label}"`]) {
    if (!covered.includes(c)) return `${c} is not covered`;
  }
  if (param("tag") !== "web-bot-auth" || param("alg") !== "ed25519") return "another kind of signature";
  if (agent[1] !== JSON.stringify(agentURL) || !keys.has(param("keyid"))) return "unknown key";
  const ahead = Math.round(Number(param("created")) - clock());
  if (ahead > 30) return `made ${ahead} s in the future: clocks differ`;
  if (clock() > Number(param("expires")) + 30) return `expired, made ${-ahead} s ago: too old, or clocks differ`;
  const base = [...covered.map((c) => `${c}: ${values[c]}`), `"@signature-params": ${params}`].join("\n");
  if (!verify(null, Buffer.from(base), keys.get(param("keyid")), Buffer.from(signature[1], "base64"))) return "bad signature";
  if (!param("nonce") || nonces.has(param("nonce"))) return "replayed";
  nonces.add(param("nonce"));
  return "";
}

const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (req, res) => {
  const fault = check(req);
  res.writeHead(fault ? 401 : 200, { Date: new Date(clock() * 1000).toUTCString(),
    ...(fault && { "Accept-Signature": 'sig1=("@authority" "@query" "signature-agent";key="sig1");created;expires;tag="web-bot-auth"' }) });
  res.end(fault || "welcome");
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
