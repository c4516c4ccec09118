import { cacheWorker } from './index.js';
await cacheWorker();
