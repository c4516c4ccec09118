import { uses, pathIn, type Place, type Stack } from './project.ts';

/** Elixir, by mix.exs. */
export function elixir(place: Place): Stack | null {
  if (!place.has('mix.exs')) return null;
  const manifest = place.text('mix.exs');
  const versions = place.text('.tool-versions');
  const isNamed = ['elixir', 'erlang'].every((tool) => new RegExp(`^${tool}\\s`, 'm').test(versions));
  const usesCredo = /\{:credo\b/.test(manifest);
  return {
    language: 'Elixir',
    folder: place.folder,
    packageManager: 'mix',
    frameworks: /\{:phoenix\b/.test(manifest) ? ['Phoenix'] : [],
    install: place.has('mix.lock') ? 'mix deps.get --check-locked' : 'mix deps.get',
    build: 'mix compile',
    test: 'mix test',
    lint: usesCredo ? 'mix credo' : place.has('.formatter.exs') ? 'mix format --check-formatted' : null,
    setup: uses(
      'erlef/setup-beam@v1',
      isNamed
        ? { 'version-file': pathIn(place, '.tool-versions'), 'version-type': 'strict' }
        : {
            'elixir-version': `'${place.versionInWorkflows('elixir-version') ?? '1.18'}'`,
            'otp-version': `'${place.versionInWorkflows('otp-version') ?? '27'}'`,
          },
    ),
    programs: ['mix'],
    leaves: ['_build/', 'deps/', ...(place.has('mix.lock') ? [] : ['mix.lock'])],
  };
}
