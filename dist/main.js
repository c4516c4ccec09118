process.on('SIGUSR1', () => undefined);
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
const { main } = await import('./index.js');
await main((url) => import(url));
