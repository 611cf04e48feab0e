// The Cosmos DB checks, by @azure/cosmos.
"use strict";
const { createHash } = require("node:crypto");
const { setTimeout: sleep } = require("node:timers/promises");
const { BulkOperationType, CosmosClient } = require("@azure/cosmos");

const oneKey = { paths: ["/deviceId"], kind: "Hash", version: 2 };
const twoKeys = { paths: ["/tenant", "/deviceId"], kind: "MultiHash", version: 2 };

// on makes a check of a function that gets a container, in a database that is
// deleted afterwards. What is different about the container comes last; scarce
// puts it into the account of scarce request units.
const on = (name, use, { scarce, ...definition } = {}) => async (target) => {
  const client = new CosmosClient(scarce ? target.scarce : target.cosmos);
  const { database } = await client.databases.create({ id: `conformance-js-${target.run}-${name}` });
  try {
    const { container } = await database.containers.create({ id: "items", partitionKey: oneKey, throughput: 400, ...definition });
    return await use(container);
  } finally {
    await database.delete();
    client.dispose();
  }
};

// attempt is a call's answer, whether or not the client calls it an error, with
// its status.
async function attempt(call) {
  try {
    const res = await call;
    return { status: res.statusCode, etag: res.etag, charge: res.requestCharge, resource: res.resource };
  } catch (err) {
    if (typeof err.code !== "number") {
      throw err;
    }
    return { status: err.code };
  }
}

// statuses collects the statuses of calls in turn.
function statuses() {
  const all = [];
  return {
    all,
    add: async (call) => {
      const answer = await attempt(call);
      all.push(answer.status);
      return answer;
    },
  };
}

const position = (deviceId, id, n) => ({ id, deviceId, n });

// own is a document without what the service adds, whose names it returns, too.
function own(resource) {
  const document = { ...resource };
  const added = [];
  for (const name of ["_attachments", "_etag", "_rid", "_self", "_ts"]) {
    if (name in document) {
      added.push(name);
      delete document[name];
    }
  }
  return { document, added };
}

const stored = async (items, device, id) => own((await items.item(id, device).read()).resource).document;

async function readContainer(items) {
  const { resource } = await items.read();
  const { resource: offer } = await items.readOffer();
  return {
    id: resource.id,
    paths: resource.partitionKey.paths,
    kind: resource.partitionKey.kind,
    version: resource.partitionKey.version,
    timeToLive: resource.defaultTtl,
    throughput: offer.content.offerThroughput,
    indexed: resource.indexingPolicy.includedPaths.some((p) => p.path === "/*"),
  };
}

async function upsert(items) {
  const s = statuses();
  const first = await s.add(items.items.upsert(position("d1", "a", 1)));
  const second = await s.add(items.items.upsert(position("d1", "a", 2)));
  return {
    statuses: s.all,
    document: await stored(items, "d1", "a"),
    newEtag: first.etag !== second.etag,
    charged: first.charge > 0 && second.charge > 0,
  };
}

async function createConflict(items) {
  const s = statuses();
  await s.add(items.items.create(position("d1", "a", 1)));
  await s.add(items.items.create(position("d1", "a", 2)));
  await s.add(items.items.create(position("d2", "a", 3))); // ids are unique per key only
  return { statuses: s.all, document: await stored(items, "d1", "a") };
}

// A document whose id and key must be escaped somewhere on their way, and whose
// values lose something in careless hands.
const awkward = {
  id: "läng id%20+&='",
  deviceId: 'dröne 1 "+%',
  text: "\u0001<\ud83d\udef0>\u2028",
  list: [1, -0.5, 1e21, true, null, {}],
  n: 9007199254740991,
};

async function read(items) {
  const s = statuses();
  await s.add(items.items.create(awkward));
  const { resource } = await s.add(items.item(awkward.id, awkward.deviceId).read());
  const { document, added } = own(resource);
  await s.add(items.item("missing", awkward.deviceId).read());
  return { statuses: s.all, document, added };
}

async function wrongKey(items) {
  const s = statuses();
  await s.add(items.items.create(position("d1", "a", 1)));
  await s.add(items.item("a", "d2").read());
  await s.add(items.item("a", "d1").replace(position("d2", "a", 2))); // the key of the request is not the document's
  await s.add(items.item("a", "d2").delete());
  return { statuses: s.all, document: await stored(items, "d1", "a") };
}

async function etag(items) {
  const match = (condition) => ({ accessCondition: { type: "IfMatch", condition } });
  const s = statuses();
  const first = await s.add(items.items.create(position("d1", "a", 1)));
  const second = await s.add(items.item("a", "d1").replace(position("d1", "a", 2), match(first.etag)));
  await s.add(items.item("a", "d1").replace(position("d1", "a", 3), match(first.etag)));
  await s.add(items.items.upsert(position("d1", "a", 4), match(first.etag)));
  await s.add(items.item("a", "d1").delete(match(first.etag)));
  const document = await stored(items, "d1", "a");
  for (const condition of [first.etag, second.etag]) {
    await s.add(items.item("a", "d1").read({ accessCondition: { type: "IfNoneMatch", condition } }));
  }
  await s.add(items.item("a", "d1").delete(match(second.etag)));
  return { statuses: s.all, document, quoted: first.etag.startsWith('"') };
}

async function replace(items) {
  const s = statuses();
  await s.add(items.item("a", "d1").replace(position("d1", "a", 1)));
  await s.add(items.items.create(position("d1", "a", 1)));
  await s.add(items.item("a", "d1").replace({ id: "a", deviceId: "d1", m: 2 }));
  return { statuses: s.all, document: await stored(items, "d1", "a") };
}

async function remove(items) {
  const s = statuses();
  await s.add(items.items.create(position("d1", "a", 1)));
  await s.add(items.item("a", "d1").delete());
  await s.add(items.item("a", "d1").read());
  await s.add(items.item("a", "d1").delete());
  await s.add(items.items.create(position("d1", "a", 2)));
  return { statuses: s.all };
}

async function patch(items) {
  const s = statuses();
  await s.add(items.items.create({ id: "a", deviceId: "d1", n: 1, list: [1, 2], old: true }));
  const operations = [
    { op: "incr", path: "/n", value: 4 },
    { op: "set", path: "/name", value: "x" },
    { op: "add", path: "/list/-", value: 3 },
    { op: "replace", path: "/list/0", value: 0 },
    { op: "remove", path: "/old" },
  ];
  await s.add(items.item("a", "d1").patch({ operations }));
  await s.add(items.item("a", "d1").patch({ condition: "FROM c WHERE c.n > 100", operations }));
  return { statuses: s.all, document: await stored(items, "d1", "a") };
}

async function hierarchicalKey(items) {
  const s = statuses();
  await s.add(items.items.create({ id: "a", tenant: "t1", deviceId: "d1" }));
  await s.add(items.item("a", ["t1", "d1"]).read());
  await s.add(items.item("a", ["t2", "d1"]).read());
  await s.add(items.item("a", ["d1", "t1"]).read());
  return { statuses: s.all };
}

// execute runs a batch and tells what came of it, and of the documents a and b.
async function execute(items, operations) {
  const res = await items.items.batch(operations, "d1");
  const b = await attempt(items.item("b", "d1").read());
  return {
    status: res.code,
    results: res.result.map((r) => r.statusCode),
    a: await stored(items, "d1", "a"),
    b: b.status,
  };
}

const batch = (items) => execute(items, [
  { operationType: "Create", resourceBody: position("d1", "a", 1) },
  { operationType: "Upsert", resourceBody: position("d1", "b", 2) },
  { operationType: "Replace", id: "a", resourceBody: position("d1", "a", 3) },
  { operationType: "Read", id: "b" },
  { operationType: "Delete", id: "b" },
]);

async function batchRollback(items) {
  await items.items.create(position("d1", "a", 1));
  return execute(items, [
    { operationType: "Upsert", resourceBody: position("d1", "a", 2) },
    { operationType: "Create", resourceBody: position("d1", "b", 2) },
    { operationType: "Create", resourceBody: position("d1", "a", 3) },
    { operationType: "Delete", id: "a" },
  ]);
}

const bulkDocuments = 1000;
const bulkConflicts = 10;

const bulkDocument = (n) => ({ id: `doc-${n}`, deviceId: `drone-${n % 200}`, n, name: `Dröne "${n}" 🛰` });

// writeInBulk writes half of the documents by either of the client's two ways.
async function writeInBulk(items) {
  const count = {};
  const note = (status) => { count[status] = (count[status] ?? 0) + 1; };
  const operation = (operationType, n) => {
    const resourceBody = bulkDocument(n);
    return { operationType, partitionKey: resourceBody.deviceId, resourceBody };
  };
  const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);
  for (let from = 0; from < bulkDocuments / 2; from += 100) {
    const results = await items.items.bulk(range(from, from + 100).map((n) => operation(BulkOperationType.Upsert, n)));
    results.forEach((r) => note(r.statusCode));
  }
  const rest = range(bulkDocuments / 2, bulkDocuments).map((n) => operation(BulkOperationType.Upsert, n));
  const again = range(0, bulkConflicts).map((n) => operation(BulkOperationType.Create, n));
  for (const operations of [rest, again]) {
    const results = await items.items.executeBulkOperations(operations);
    results.forEach((r) => note(r.error ? r.error.code : r.response.statusCode));
  }
  const { rows } = await query(items, "SELECT c.id, c.deviceId, c.n, c.name FROM c");
  const lines = rows.map((doc) => `${doc.deviceId}/${doc.id}/${doc.n}/${doc.name}\n`).sort();
  return { statuses: count, stored: rows.length, sha256: createHash("sha256").update(lines.join("")).digest("hex") };
}

// query drains a query and returns its rows and how many pages they took.
async function query(items, text, parameters = {}, options = {}) {
  const spec = { query: text, parameters: Object.entries(parameters).map(([name, value]) => ({ name, value })) };
  const iterator = items.items.query(spec, options);
  const rows = [];
  let pages = 0;
  while (iterator.hasMoreResults()) {
    const page = await iterator.fetchNext();
    pages++;
    rows.push(...(page.resources ?? []));
  }
  return { rows, pages };
}

// fillFleet writes three documents for each of twenty drones, along a meridian.
async function fillFleet(items) {
  for (let d = 0; d < 20; d++) {
    for (let n = 0; n < 3; n++) {
      await items.items.upsert({ id: `d${d}-${n}`, deviceId: `d${d}`, n, location: { type: "Point", coordinates: [10, d] } });
    }
  }
}

async function queryParameters(items) {
  await fillFleet(items);
  const { rows } = await query(items,
    "SELECT VALUE c.id FROM c WHERE STARTSWITH(c.deviceId, @prefix) AND c.n >= @n AND NOT ARRAY_CONTAINS(@without, c.deviceId)",
    { "@prefix": "d1", "@n": 2, "@without": ["d1", "d15"] });
  return { ids: rows.sort() };
}

async function queryPaging(items) {
  await fillFleet(items);
  const { rows, pages } = await query(items, "SELECT VALUE c.id FROM c", {}, { maxItemCount: 7 });
  return { rows: rows.length, distinct: new Set(rows).size, manyPages: pages >= 9 };
}

async function queryOneKey(items) {
  await fillFleet(items);
  const seen = {};
  for (const [name, text] of Object.entries({
    ordered: "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
    projection: "SELECT c.n, c.location.coordinates[1] AS lat FROM c WHERE c.n BETWEEN 1 AND 2 ORDER BY c.n",
    count: "SELECT VALUE COUNT(1) FROM c WHERE c.n IN (0, 2)",
    undefined: "SELECT VALUE c.n FROM c WHERE IS_DEFINED(c.missing) OR c.missing = null",
  })) {
    seen[name] = (await query(items, text, {}, { partitionKey: "d3" })).rows;
  }
  return seen;
}

async function spatial(items) {
  await fillFleet(items);
  const near = await query(items, "SELECT VALUE c.id FROM c WHERE c.n = 0 AND ST_DISTANCE(c.location, @here) < @metres",
    { "@here": { type: "Point", coordinates: [10, 0] }, "@metres": 250_000 });
  const area = { type: "Polygon", coordinates: [[[9, 4.5], [11, 4.5], [11, 8.5], [9, 8.5], [9, 4.5]]] };
  const within = await query(items, "SELECT VALUE c.id FROM c WHERE c.n = 0 AND ST_WITHIN(c.location, @area)", { "@area": area });
  const far = await query(items, 'SELECT VALUE ST_DISTANCE(c.location, {"type":"Point","coordinates":[10,0]}) FROM c WHERE c.n = 0',
    {}, { partitionKey: "d1" });
  return { near: near.rows.sort(), within: within.rows.sort(), degreeInKilometres: Math.round(far.rows[0] / 1000) };
}

// throttled writes more at once than the container has for a second. The client
// is refused, waits and tries again, and its user sees nothing of that but in
// the diagnostics.
async function throttled(items) {
  const text = "x".repeat(100_000);
  const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => items.items.create({ id: String(n), deviceId: "d1", text })));
  const failed = answers.flatMap((a) => a.diagnostics.clientSideRequestStatistics.retryDiagnostics.failedAttempts);
  return { written: answers.length, refused: failed.some((f) => f.statusCode === 429) };
}

// timeToLive writes documents that live for a second, and for ever.
async function timeToLive(items) {
  await items.items.create({ id: "brief", deviceId: "d1", ttl: 1 });
  await items.items.create({ id: "lasting", deviceId: "d1" });
  let brief;
  while ((brief = (await attempt(items.item("brief", "d1").read())).status) !== 404) {
    await sleep(50);
  }
  const lasting = await attempt(items.item("lasting", "d1").read());
  const { rows } = await query(items, "SELECT VALUE c.id FROM c");
  return { brief, lasting: lasting.status, listed: rows };
}

const checks = {
  container: [readContainer, { defaultTtl: 300 }],
  upsert: [upsert],
  "create-conflict": [createConflict],
  read: [read],
  "wrong-key": [wrongKey],
  etag: [etag],
  replace: [replace],
  delete: [remove],
  patch: [patch],
  "hierarchical-key": [hierarchicalKey, { partitionKey: twoKeys }],
  batch: [batch],
  "batch-rollback": [batchRollback],
  bulk: [writeInBulk, { throughput: 10_000 }], // items.bulk leaves waiting to its caller
  "query-parameters": [queryParameters],
  "query-paging": [queryPaging],
  "query-one-key": [queryOneKey],
  spatial: [spatial],
  throttled: [throttled, { scarce: true }],
  "time-to-live": [timeToLive, { defaultTtl: -1 }],
};

module.exports = Object.fromEntries(Object.entries(checks).map(([name, [use, definition]]) => [`cosmos/${name}`, on(name, use, definition)]));
