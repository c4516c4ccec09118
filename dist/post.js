process.on('SIGUSR1', () => undefined);
const { post } = await import('./index.js');
await post();
