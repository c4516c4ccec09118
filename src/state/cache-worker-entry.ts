import { cacheWorkerProcess } from './cache-worker.ts';

await cacheWorkerProcess(process.argv.at(-1) ?? '');
