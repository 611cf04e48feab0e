// The Event Hubs checks, by @azure/event-hubs and its checkpoint store.
"use strict";
const { createHash } = require("node:crypto");
const { setTimeout: sleep } = require("node:timers/promises");
const { EventHubConsumerClient, EventHubProducerClient, earliestEventPosition, latestEventPosition } = require("@azure/event-hubs");
const { BlobCheckpointStore } = require("@azure/eventhubs-checkpointstore-blob");
const { ContainerClient } = require("@azure/storage-blob");

const group = EventHubConsumerClient.defaultConsumerGroupName;
// The client waits 30 s before it tries again unless told otherwise.
const retryOptions = { maxRetries: 3, retryDelayInMs: 300 };

// withHub opens a producer and a consumer for a check.
async function withHub(target, check, use) {
  const producer = new EventHubProducerClient(target.hubConnection, target.hub, { retryOptions });
  const consumer = new EventHubConsumerClient(group, target.hubConnection, target.hub, { retryOptions });
  const mark = `${target.run}-js-${check}`;
  try {
    return await use({ producer, consumer, mark });
  } finally {
    await producer.close();
    await consumer.close();
  }
}

// send publishes notes from to to-1 as one batch.
async function send({ producer, mark }, options, from, to) {
  const batch = await producer.createBatch(options);
  for (let n = from; n < to; n++) {
    if (!batch.tryAdd({ body: { mark, n } })) {
      throw new Error(`event ${n} does not fit`);
    }
  }
  await producer.sendBatch(batch);
}

const own = ({ mark }, event) => event.body !== null && event.body.mark === mark;
const numbers = (hub, events) => events.filter((e) => own(hub, e)).map((e) => e.body.n);
const after = (properties) => ({ sequenceNumber: properties.lastEnqueuedSequenceNumber, isInclusive: false });

// listen receives from a position on until enough says that the events are.
function listen(consumer, partition, startPosition, enough, options = {}) {
  const all = [];
  let subscription;
  const done = new Promise((resolve, reject) => {
    subscription = consumer.subscribe(partition, {
      processEvents: async (events) => {
        all.push(...events);
        if (enough(all)) {
          resolve(all);
        }
      },
      processError: async (err) => reject(err),
      processClose: async (reason) => options.closed?.(reason),
    }, { startPosition, maxBatchSize: 100, maxWaitTimeInSeconds: 0.1, ownerLevel: options.ownerLevel });
  });
  return { done, close: () => subscription.close() };
}

// read receives this check's events until the one with the last number.
async function read(hub, partition, startPosition, last) {
  const listening = listen(hub.consumer, partition, startPosition, (all) => all.some((e) => own(hub, e) && e.body.n === last));
  try {
    return (await listening.done).filter((e) => own(hub, e));
  } finally {
    await listening.close();
  }
}

const contiguous = (events) => events.every((e, i) => i === 0 || e.sequenceNumber === events[i - 1].sequenceNumber + 1);

async function positions({ consumer }) {
  const all = new Map();
  for (const id of await consumer.getPartitionIds()) {
    all.set(id, await consumer.getPartitionProperties(id));
  }
  return all;
}

const properties = (target) => withHub(target, "properties", async ({ producer, consumer }) => {
  const hub = await consumer.getEventHubProperties();
  let described = 0;
  for (const id of hub.partitionIds) {
    const p = await producer.getPartitionProperties(id);
    if (p.eventHubName === target.hub && p.partitionId === id && p.lastEnqueuedSequenceNumber >= p.beginningSequenceNumber - 1) {
      described++;
    }
  }
  return {
    named: hub.name === target.hub,
    created: hub.createdOn.getTime() < Date.now() + 60_000 && hub.createdOn.getFullYear() > 2000,
    partitionsFrom: hub.partitionIds[0],
    severalPartitions: hub.partitionIds.length > 1,
    allPartitionsAnswer: described === hub.partitionIds.length,
  };
});

const batchByPartitionID = (target) => withHub(target, "id", async (hub) => {
  const before = await hub.consumer.getPartitionProperties("1");
  await send(hub, { partitionId: "1" }, 0, 5);
  const events = await read(hub, "1", after(before), 4);
  const keys = events.filter((e) => e.partitionKey !== null && e.partitionKey !== undefined);
  return { events: numbers(hub, events), contiguous: contiguous(events), withKey: keys.length };
});

const batchByPartitionKey = (target) => withHub(target, "key", async (hub) => {
  const before = await positions(hub);
  for (let n = 0; n < 3; n++) {
    await send(hub, { partitionKey: "drone-7 é" }, 2 * n, 2 * n + 2);
  }
  // Whichever partition the service chose holds all; the others got nothing
  // from us.
  let partitions = 0;
  let found = [];
  for (const [id, p] of before) {
    const now = await hub.consumer.getPartitionProperties(id);
    if (now.lastEnqueuedSequenceNumber === p.lastEnqueuedSequenceNumber) {
      continue;
    }
    partitions++;
    found = await read(hub, id, after(p), 5);
  }
  return { partitions, events: numbers(hub, found), keys: [...new Set(found.map((e) => e.partitionKey))] };
});

const largeEvent = (target) => withHub(target, "large", async ({ producer, consumer }) => {
  const before = await consumer.getPartitionProperties("0");
  const batch = await producer.createBatch({ partitionId: "0" });
  const body = Buffer.from("0123456789abcdef".repeat(200_000 / 16));
  if (!batch.tryAdd({ body, properties: { kind: "large" }, contentType: "text/plain" })) {
    throw new Error("the event does not fit");
  }
  await producer.sendBatch(batch);
  const listening = listen(consumer, "0", after(before), (all) => all.length > 0);
  try {
    const [event] = await listening.done;
    return {
      bytes: event.body.length,
      sha256: createHash("sha256").update(event.body).digest("hex"),
      property: event.properties.kind,
      contentType: event.contentType,
    };
  } finally {
    await listening.close();
  }
});

const startPositions = (target) => withHub(target, "start", async (hub) => {
  for (let n = 0; n < 5; n++) {
    await send(hub, { partitionId: "0" }, n, n + 1);
    await sleep(10); // so that enqueued times differ
  }
  const all = await read(hub, "0", earliestEventPosition, 4);
  if (all.length !== 5) {
    throw new Error(`${all.length} of 5 events from the start`);
  }
  const mid = all[2];
  // This client has no inclusive enqueued time: it asks for what is later than
  // a millisecond before.
  const starts = {
    earliest: earliestEventPosition,
    offset: { offset: mid.offset },
    offsetInclusive: { offset: mid.offset, isInclusive: true },
    sequence: { sequenceNumber: mid.sequenceNumber },
    sequenceInclusive: { sequenceNumber: mid.sequenceNumber, isInclusive: true },
    enqueued: { enqueuedOn: mid.enqueuedTimeUtc },
    enqueuedInclusive: { enqueuedOn: new Date(mid.enqueuedTimeUtc.getTime() - 1) },
  };
  const seen = {};
  for (const [name, start] of Object.entries(starts)) {
    seen[name] = numbers(hub, await read(hub, "0", start, 4));
  }
  return seen;
});

const startLatest = (target) => withHub(target, "latest", async (hub) => {
  await send(hub, { partitionId: "0" }, 0, 10);
  const listening = listen(hub.consumer, "0", latestEventPosition, (all) => all.some((e) => own(hub, e)));
  let arrived = false;
  listening.done.then(() => { arrived = true; }, () => { arrived = true; });
  try {
    // Nobody tells when the link is up, so events are sent until one arrives.
    for (let n = 10; !arrived; n++) {
      await send(hub, { partitionId: "0" }, n, n + 1);
      await sleep(100);
    }
    const [first] = numbers(hub, await listening.done);
    return { old: first < 10, new: first >= 10 };
  } finally {
    await listening.close();
  }
});

const stealing = (target) => withHub(target, "steal", async (hub) => {
  const before = await hub.consumer.getPartitionProperties("1");
  await send(hub, { partitionId: "1" }, 0, 3);
  const three = (all) => numbers(hub, all).length >= 3;

  // The victim goes on after its three events until its error tells.
  const held = [];
  let lost;
  const failed = new Promise((resolve) => { lost = resolve; });
  let full;
  const holds = new Promise((resolve) => { full = resolve; });
  const victim = hub.consumer.subscribe("1", {
    processEvents: async (events) => {
      held.push(...events);
      if (three(held)) {
        full();
      }
    },
    processError: async (err) => lost(err),
  }, { startPosition: after(before), ownerLevel: 1, maxWaitTimeInSeconds: 0.1 });
  await holds;
  const victimBefore = numbers(hub, held);

  const other = new EventHubConsumerClient(group, target.hubConnection, target.hub, { retryOptions });
  const thief = listen(other, "1", after(before), three, { ownerLevel: 2 });
  try {
    const stolen = await thief.done;
    const err = await failed;
    return { victimBefore, thief: numbers(hub, stolen), victimLost: err.code === "ReceiverDisconnectedError" };
  } finally {
    await thief.close();
    await victim.close();
    await other.close();
  }
});

const subscribedEvents = 50;

// checkpointBlob is the form of the first partition's checkpoint. This client
// writes names in lower case; the Go client keeps the case.
async function checkpointBlob(blobs, target) {
  for await (const blob of blobs.listBlobsFlat({ includeMetadata: true })) {
    if (blob.name.endsWith("/checkpoint/0")) {
      const name = blob.name.slice(blob.name.indexOf("/") + 1).replace(target.hub.toLowerCase(), "HUB");
      return { blob: name, metadata: Object.keys(blob.metadata).map((key) => key.toLowerCase()).sort() };
    }
  }
  throw new Error("there is no checkpoint blob of partition 0");
}

const subscribeAll = (target) => withHub(target, "subscribe", async (hub) => {
  const before = await positions(hub);
  const startPosition = {};
  const ids = [...before.keys()].sort();
  for (const [i, id] of ids.entries()) {
    startPosition[id] = after(before.get(id));
    await send(hub, { partitionId: id }, i * subscribedEvents, (i + 1) * subscribedEvents);
  }
  const blobs = new ContainerClient(target.storage, `conformance-js-${target.run}`);
  await blobs.create();
  const store = new BlobCheckpointStore(blobs);
  const consumer = new EventHubConsumerClient(group, target.hubConnection, target.hub, store, {
    retryOptions,
    loadBalancingOptions: { strategy: "greedy", updateIntervalInMs: 200 },
  });
  const times = new Map();
  const partitions = new Set();
  const want = ids.length * subscribedEvents;
  try {
    let subscription;
    await new Promise((resolve, reject) => {
      subscription = consumer.subscribe({
        processEvents: async (events, context) => {
          for (const n of numbers(hub, events)) {
            times.set(n, (times.get(n) ?? 0) + 1);
            partitions.add(context.partitionId);
          }
          if (events.length > 0) {
            await context.updateCheckpoint(events[events.length - 1]);
          }
          if (times.size === want) {
            resolve();
          }
        },
        processError: async (err) => reject(err),
      }, { startPosition, maxBatchSize: 100, maxWaitTimeInSeconds: 0.1 });
    });
    await subscription.close();
    const saved = await store.listCheckpoints(consumer.fullyQualifiedNamespace, target.hub, group);
    const atEnd = saved.filter((c) => c.sequenceNumber === before.get(c.partitionId).lastEnqueuedSequenceNumber + subscribedEvents);
    return {
      ...(await checkpointBlob(blobs, target)),
      each: subscribedEvents,
      allOnce: times.size === want && [...times.values()].every((n) => n === 1),
      allPartitions: partitions.size === ids.length,
      checkpointsAtEnd: atEnd.length === ids.length,
    };
  } finally {
    await consumer.close();
    await blobs.delete();
  }
});

module.exports = {
  "hub/properties": properties,
  "hub/batch-by-partition-id": batchByPartitionID,
  "hub/batch-by-partition-key": batchByPartitionKey,
  "hub/large-event": largeEvent,
  "hub/start-positions": startPositions,
  "hub/start-latest": startLatest,
  "hub/stealing": stealing,
  "hub/subscribe-all": subscribeAll,
};
