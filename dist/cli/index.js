#!/usr/bin/env node
if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(`ralph needs Node 24 or newer; this is ${process.version}.`);
  process.exit(2);
}
const { cli } = await import('../index.js');
await cli();
