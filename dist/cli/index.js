#!/usr/bin/env node
if (Number(process.versions.node.split('.')[0]) < 20) {
  console.error(`ralph needs Node 20 or newer; this is ${process.version}.`);
  process.exit(2);
}
const { cli } = await import('../index.js');
await cli(new URL('../../', import.meta.url));
