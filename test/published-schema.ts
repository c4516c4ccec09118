import { z } from 'zod';

/** Returns the JSON Schema of a printed document, as schemas/ publishes it (`vitest -u` writes it). */
export function publishedSchema(title: string, schema: z.ZodType, io: 'input' | 'output' = 'output'): object {
  return { title, ...z.toJSONSchema(schema, { io }) };
}
