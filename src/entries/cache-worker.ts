import { startCacheWorker } from '../state/cache-worker.ts';

await startCacheWorker(process.argv.at(-1) ?? '');
