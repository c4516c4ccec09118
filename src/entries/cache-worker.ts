import { cacheWorkerProcess } from '../state/cache-worker.ts';

await cacheWorkerProcess(process.argv.at(-1) ?? '');
