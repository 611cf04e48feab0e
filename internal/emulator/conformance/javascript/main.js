// Runs the checks against the services that standard input names, and prints a
// line of JSON for each.
"use strict";
const { readFileSync } = require("node:fs");

const limit = 60_000; // milliseconds for one check

async function perform(target, checks) {
  for (const [name, run] of Object.entries(checks)) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done within ${limit} ms`)), limit);
    });
    try {
      const seen = await Promise.race([run(target), late]);
      console.log(JSON.stringify({ name, ok: true, seen }));
    } catch (err) {
      console.log(JSON.stringify({ name, ok: false, seen: String(err && err.stack || err) }));
    } finally {
      clearTimeout(timer);
    }
  }
}

const target = JSON.parse(readFileSync(0, "utf8"));
const checks = { ...require("./eventhubs.js"), ...require("./cosmos.js") };
// What a failed check left open must not keep the process.
perform(target, checks).then(() => process.exit(0));
