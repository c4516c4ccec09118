process.on('SIGUSR1', () => undefined);
const { cacheWorker } = await import('./index.js');
await cacheWorker((url) => import(url));
