import { z } from 'zod';
import { cleanedTextSchema } from '../../core/text/cleaned.ts';

/** The published JSON Schema of `ralph clean --json`. */
export function cleanJsonSchema(): object {
  return { title: 'ralph clean --json', ...z.toJSONSchema(cleanedTextSchema) };
}
