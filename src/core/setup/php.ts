import { z } from 'zod';
import { objectOf } from './javascript.ts';
import { firstOf, uses, type Place, type Stack } from './project.ts';

const texts = z.record(z.string(), z.unknown()).catch({});
const manifestSchema = z.object({ require: texts, 'require-dev': texts, scripts: texts });
const phpVersion = z.string().catch('');

/** PHP, by composer.json. */
export function php(place: Place): Stack | null {
  if (!place.has('composer.json')) return null;
  const manifest = manifestSchema.parse(objectOf(place.text('composer.json')));
  const packages = { ...manifest['require-dev'], ...manifest.require };
  const requires = (name: string): boolean => Object.hasOwn(packages, name);
  const version =
    /\d\.\d+/.exec(phpVersion.parse(manifest.require['php']))?.[0] ?? place.versionInWorkflows('php-version');
  const runner = requires('pestphp/pest')
    ? 'vendor/bin/pest'
    : requires('phpunit/phpunit') || firstOf(place, ['phpunit.xml', 'phpunit.xml.dist']) !== null
      ? 'vendor/bin/phpunit'
      : null;
  const checker = requires('phpstan/phpstan') ? 'vendor/bin/phpstan' : null;
  return {
    language: 'PHP',
    folder: place.folder,
    packageManager: 'composer',
    frameworks: [
      ...(requires('laravel/framework') ? ['Laravel'] : []),
      ...(requires('symfony/framework-bundle') ? ['Symfony'] : []),
    ],
    install: 'composer install --no-interaction',
    build: null,
    test: Object.hasOwn(manifest.scripts, 'test') ? 'composer test' : runner,
    lint: checker === null ? null : `${checker} analyse`,
    setup: uses('shivammathur/setup-php@v2', { 'php-version': version === null ? null : `'${version}'` }),
    programs: ['php', 'composer', ...[runner, checker].filter((program) => program !== null)],
    leaves: ['vendor/'],
  };
}
