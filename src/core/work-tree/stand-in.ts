import { z } from 'zod';

/** Why a path of the work tree is in its tree under a substitute for its content. */
export const standInSchema = z.discriminatedUnion('is', [
  z.object({ is: z.literal('repository') }),
  z.object({ is: z.literal('unreadable') }),
  z.object({ is: z.literal('refused') }),
  z.object({ is: z.literal('too-large'), bytes: z.int().nonnegative() }),
]);

/** See `standInSchema`. */
export type StandIn = z.infer<typeof standInSchema>;

/** Continues a sentence about the path; GitHub takes no file of more than 100 MiB. */
export function whyStandIn(standIn: StandIn): string {
  switch (standIn.is) {
    case 'repository':
      return 'it is a git repository of its own';
    case 'unreadable':
      return 'it cannot be read';
    case 'refused':
      return 'git does not take it: its name or its encoding is not what git, or a line of .gitattributes, asks for';
    case 'too-large':
      return `it is larger than the 100 MiB that GitHub takes (${Math.ceil(standIn.bytes / 2 ** 20)} MiB)`;
  }
}
