process.on('SIGUSR1', () => undefined);
const { agentSandboxWorker } = await import('./index.js');
await agentSandboxWorker((url) => import(url));
