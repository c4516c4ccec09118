import { pathIn, uses, type Place, type Stack } from './project.ts';

/** How the names of files end by which .NET is found, most telling first. */
export const DOTNET_ENDINGS: readonly string[] = ['.sln', '.slnx', '.csproj', '.fsproj'];

/** .NET, by a solution or a project. */
export function dotnet(place: Place): Stack | null {
  const manifest = DOTNET_ENDINGS.map((ending) => place.ending(ending)).find((name) => name !== null) ?? null;
  if (manifest === null) return null;
  const version = /<TargetFrameworks?>[^<]*net(\d{1,2}\.\d)/.exec(place.text(manifest))?.[1];
  return {
    language: place.ending('.fsproj') === null ? 'C#' : 'F#',
    folder: place.folder,
    packageManager: 'dotnet',
    frameworks: [],
    install: null,
    build: 'dotnet build',
    test: 'dotnet test',
    lint: 'dotnet format --verify-no-changes',
    setup: uses(
      'actions/setup-dotnet@v5',
      place.has('global.json')
        ? { 'global-json-file': pathIn(place, 'global.json') }
        : {
            'dotnet-version': `'${version === undefined ? (place.versionInWorkflows('dotnet-version') ?? '10.0.x') : `${version}.x`}'`,
          },
    ),
    programs: ['dotnet'],
    // Whoever ignores anything already ignores these, under one of many names.
    leaves: place.has('.gitignore') ? [] : ['bin/', 'obj/'],
  };
}
