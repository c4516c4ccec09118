import type { Denial } from '../../core/analysis/analysis.ts';
import { capped } from '../../core/text/cut.ts';
import { asArray, asObject, asString } from './json.ts';

/** Bounds of what one output may bring into the journal. */
const MAX_DENIALS = 200;
const MAX_COMMAND_CHARS = 2_000;

/** The refused calls in the CLI's field `permission_denials`, in order. */
export function parseDenials(value: unknown): readonly Denial[] {
  return asArray(value)
    .slice(0, MAX_DENIALS)
    .flatMap((item) => {
      const tool = asString(asObject(item)?.['tool_name']);
      return tool === null ? [] : [createDenial(tool, asString(asObject(asObject(item)?.['tool_input'])?.['command']))];
    });
}

/** `command` is null for a tool that takes none. */
export function createDenial(tool: string, command: string | null): Denial {
  return { tool: capped(tool, 200), command: command === null ? null : capped(command, MAX_COMMAND_CHARS) };
}
