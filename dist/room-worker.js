process.on('SIGUSR1', () => undefined);
const { roomWorker } = await import('./index.js');
await roomWorker((url) => import(url));
