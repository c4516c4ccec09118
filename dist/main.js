process.on('SIGUSR1', () => undefined);
const { main } = await import('./index.js');
await main((url) => import(url));
