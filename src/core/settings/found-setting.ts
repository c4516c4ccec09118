import { z } from 'zod';
import type { Immutable } from '../immutable.ts';

/** Where a setting stands: a line of a file, or a variable of the environment (`file`: null). */
const placeSchema = z.object({
  key: z.string(),
  file: z.object({ path: z.string(), line: z.number().int() }).nullable(),
});
export type Place = Immutable<z.infer<typeof placeSchema>>;

export const foundSettingSchema = z.object({ input: z.string(), text: z.string(), places: z.array(placeSchema) });

/** The text of an input as the environment or a settings file of another Ralph has it, and where. It counts where the input itself is not given. */
export type FoundSetting = Immutable<z.infer<typeof foundSettingSchema>>;
