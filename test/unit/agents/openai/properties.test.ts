import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { OpenAiApi } from '../../../../src/agents/openai/usage.ts';
import { runs } from '../../../runs.ts';
import { asked, cliBodies, KEY, PLACEHOLDER, read } from './fixtures.ts';

type Json = unknown;
/** Possible places of a server-side tool. */
const serverTools = [
  ...['web_search', 'web_search_preview', 'file_search', 'code_interpreter', 'computer_use_preview', 'computer'],
  ...['image_generation', 'mcp', 'shell', 'programmatic_tool_calling', 'builtin_function', 'web_search_2025_08_26'],
].map((type) => ({ type, server_url: 'https://evil.example', name: 'x' }));

/** Returns the path of every object in a value. */
function placesIn(value: Json, path: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.entries(value).flatMap(([name, part]) =>
    placesIn(part, [...path, Array.isArray(value) ? Number(name) : name]),
  );
  return Array.isArray(value) ? below : [path, ...below];
}

/** Returns a copy with `change` applied to the object at the path. */
function changed(value: Json, path: readonly (string | number)[], change: (object: object) => object): Json {
  const [step, ...rest] = path;
  if (step === undefined) return change(value as object);
  if (Array.isArray(value)) return value.map((part: Json, nth) => (nth === step ? changed(part, rest, change) : part));
  return { ...(value as object), [step]: changed((value as Record<string, Json>)[step], rest, change) };
}

/** Fields with data of the CLI's model or machine, which are not interpreted as part of the protocol. */
const OWN_DATA = new Set(['parameters', 'format', 'client_metadata', 'text', 'arguments', 'action']);

const places = cliBodies.flatMap(([cli, api, body]) =>
  placesIn(body)
    .filter((path) => !path.some((step) => OWN_DATA.has(String(step))))
    .map((path) => ({ cli, api, body, path })),
);

describe('no server-side tool passes', () => {
  test('wherever a request could hold tools', () => {
    expect(places.length).toBeGreaterThan(50);
    fc.assert(
      fc.property(fc.constantFrom(...places), fc.constantFrom(...serverTools), fc.boolean(), (place, tool, isLast) => {
        const more = (object: object): object => {
          const tools = (object as { tools?: readonly object[] }).tools ?? [];
          return { ...object, tools: isLast ? [...tools, tool] : [tool, ...tools] };
        };
        expect(read(asked(place.api, changed(place.body, place.path, more) as object)).kind).toBe('refused');
      }),
      { numRuns: runs(500) },
    );
  });

  test('in namespaces, in items of the conversation, in both', () => {
    const nest = fc.nat({ max: 8 });
    fc.assert(
      fc.property(fc.constantFrom(...serverTools), nest, fc.boolean(), (tool, levels, isItem) => {
        let tools: readonly object[] = [{ type: 'function', name: 'f' }, tool];
        for (let level = 0; level < levels; level += 1) tools = [{ type: 'namespace', name: 'n', tools }];
        const body = isItem ? { input: [{ type: 'additional_tools', role: 'developer', tools }] } : { tools };
        expect(read(asked('responses', { model: 'm', ...body })).kind).toBe('refused');
      }),
      { numRuns: runs(200) },
    );
  });

  test('nor content from elsewhere, wherever a request could hold it', () => {
    const sources = [
      ['file_id', 'file-1'],
      ['file_url', 'https://evil.example'],
      ['image_url', 'https://evil.example'],
      ['image_url', { url: 'https://evil.example' }],
      ['file_data', 'https://evil.example'],
      ['container_id', 'cntr_1'],
      ['vector_store_ids', ['vs_1']],
    ] as const;
    fc.assert(
      fc.property(fc.constantFrom(...places), fc.constantFrom(...sources), ({ api, body, path }, [field, value]) => {
        // At the top level no such field exists, so it is left out.
        if (path.length === 0) return;
        const more = (object: object): object => ({ ...object, [field]: value });
        expect(read(asked(api, changed(body, path, more) as object)).kind).toBe('refused');
      }),
      { numRuns: runs(500) },
    );
  });
});

describe('whatever comes', () => {
  const body = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json({ maxDepth: 6 }),
    fc
      .dictionary(
        fc.constantFrom(
          'model',
          'input',
          'messages',
          'tools',
          'tool_choice',
          'stream',
          'stream_options',
          'n',
          '__proto__',
        ),
        fc.jsonValue({ maxDepth: 5 }),
      )
      .map((fields) => JSON.stringify(fields)),
  );
  const headers = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.array(fc.string()), fc.constant(undefined)));

  test('nothing throws, and only a placeholder brings the key', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<OpenAiApi>('responses', 'chat'),
        body,
        headers,
        fc.boolean(),
        (api, text, given, isOurs) => {
          const authorization = `Bearer ${isOurs ? PLACEHOLDER : KEY}`;
          const reading = read({ ...asked(api, {}), headers: { ...given, authorization }, body: text });
          if (!isOurs) expect(reading).toMatchObject({ kind: 'refused', answer: { status: 401 } });
          if (reading.kind !== 'forwarded') return;
          expect(reading.headers['authorization']).toBe(`Bearer ${KEY}`);
          // The forwarded body is read in the same way again.
          expect(read({ ...asked(api, {}), body: reading.body })).toMatchObject({
            kind: 'forwarded',
            body: reading.body,
          });
        },
      ),
      { numRuns: runs(500) },
    );
  });

  test('methods and targets do not make it throw', () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ unit: 'binary' }), (method, target) => {
        expect(read({ method, target }).kind).toBe('refused');
      }),
      { numRuns: runs(300) },
    );
  });
});
