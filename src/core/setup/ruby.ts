import { firstOf, uses, type Place, type Stack } from './project.ts';

/** Ruby, by its Gemfile. */
export function ruby(place: Place): Stack | null {
  if (!place.has('Gemfile')) return null;
  const gems = place.text('Gemfile');
  const hasVersion = firstOf(place, ['.ruby-version', '.tool-versions']) !== null || /^ruby[ (]/m.test(gems);
  const isRails = /^\s*gem ["']rails["']/m.test(gems);
  const usesRspec = /["']rspec/.test(gems) || place.has('.rspec');
  return {
    language: 'Ruby',
    folder: place.folder,
    packageManager: 'bundler',
    frameworks: isRails ? ['Rails'] : [],
    install: 'bundle install',
    build: null,
    test: usesRspec
      ? 'bundle exec rspec'
      : isRails
        ? 'bundle exec rails test'
        : place.has('Rakefile')
          ? 'bundle exec rake test'
          : null,
    lint: /["']rubocop/.test(gems) || place.has('.rubocop.yml') ? 'bundle exec rubocop' : null,
    // Without bundler-cache, which installs into the work tree.
    setup: uses('ruby/setup-ruby@v1', {
      'ruby-version': hasVersion ? null : `'${place.versionInWorkflows('ruby-version') ?? '3.4'}'`,
      'working-directory': place.folder === '' ? null : place.folder,
    }),
    programs: ['bundle'],
    leaves: place.has('Gemfile.lock') ? [] : ['Gemfile.lock'],
  };
}

/** A Makefile with a target `test`, for what no other detection knows. */
export function make(place: Place): Stack | null {
  const name = firstOf(place, ['Makefile', 'makefile', 'GNUmakefile']);
  const target = (wanted: string): string | null =>
    name !== null && new RegExp(`^${wanted}\\s*:(?!=)`, 'm').test(place.text(name)) ? `make ${wanted}` : null;
  if (name === null || target('test') === null) return null;
  return {
    language: 'Make',
    folder: place.folder,
    packageManager: 'make',
    frameworks: [],
    install: null,
    build: target('build'),
    test: target('test'),
    lint: target('lint'),
    setup: [],
    programs: ['make'],
    leaves: [],
  };
}
