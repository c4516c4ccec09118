#!/usr/bin/env node
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 12)) {
  console.error(`ralph needs Node 20.12 or newer; this is ${process.version}.`);
  process.exit(2);
}
Map.groupBy ??= (items, keyOf) => {
  const groups = new Map();
  let index = 0;
  for (const item of items) {
    const key = keyOf(item, index++);
    if (!groups.get(key)?.push(item)) groups.set(key, [item]);
  }
  return groups;
};
Promise.withResolvers ??= function () {
  const made = {};
  made.promise = new this((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
};
const { cli } = await import('../index.js');
await cli(new URL('../../', import.meta.url));
