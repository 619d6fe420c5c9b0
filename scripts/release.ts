/**
 * `npm run release -- VERSION`: makes everything that a release consists of in one directory, and prints what a person still does by hand. It
 * publishes nothing. `--dry-run` makes the same from the working tree as it is, and leaves that unchanged.
 */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';

const root = fileURLToPath(new URL('..', import.meta.url));

const command = new Command('release')
  .description(
    'Makes the npm package, the chart, the SBOM, the notes and the checksums of a release; publishes nothing',
  )
  .argument('<version>', 'such as 0.1.0')
  .option('--dry-run', 'from the working tree as it is, which stays unchanged')
  .option('--out <directory>', 'where the release is put (default: dist-release/VERSION)')
  .option('--helm <program>', 'the program of helm', 'helm')
  .parse();
const [version = ''] = command.args;
const options = command.opts<{ dryRun?: true; out?: string; helm: string }>();
const out = resolve(options.out ?? join(root, 'dist-release', version));

class Refusal extends Error {
  readonly remedy: string;

  constructor(because: string, remedy: string) {
    super(because);
    this.remedy = remedy;
  }
}

const run = (directory: string, program: string, ...args: readonly string[]): string =>
  execFileSync(program, args, { cwd: directory, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

try {
  release();
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(`error[refused]: nothing was released\n  because: ${error.message}\n  try:     ${error.remedy}`);
  process.exitCode = 3;
}

function release(): void {
  if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version))
    throw new Refusal(`${version} is no version`, 'npm run release -- 0.1.0');
  if (options.dryRun !== true) refuseUnlessReady();
  const source = mkdtempSync(join(tmpdir(), 'kcover-release-'));
  try {
    copyTree(source);
    const notes = setVersion(source);
    rmSync(out, { recursive: true, force: true });
    for (const part of ['npm', 'chart']) mkdirSync(join(out, part), { recursive: true });
    makeParts(source, notes);
    if (options.dryRun !== true) setVersion(root);
  } finally {
    rmSync(source, { recursive: true, force: true });
  }
  report();
}

/** What is released is what was committed and tested. */
function refuseUnlessReady(): void {
  if (run(root, 'git', 'status', '--porcelain') !== '')
    throw new Refusal('the working tree has changes that are not committed', 'git commit, or --dry-run');
  if (run(root, 'git', 'tag', '--list', `v${version}`) !== '')
    throw new Refusal(`v${version} is tagged already`, 'a later version');
}

/** Tracked files, and those that would be: never what git ignores. */
function copyTree(to: string): void {
  const files = run(root, 'git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0');
  for (const file of files) {
    if (file === '') continue;
    mkdirSync(dirname(join(to, file)), { recursive: true });
    cpSync(join(root, file), join(to, file));
  }
  symlinkSync(join(root, 'node_modules'), join(to, 'node_modules'));
}

/** Writes the version everywhere, and gives the changes of this version their heading. Returns those changes. */
function setVersion(tree: string): string {
  for (const file of ['package.json', 'package-lock.json'])
    edit(tree, file, (text) => {
      const json = JSON.parse(text) as { version: string; packages?: Record<string, { version?: string }> };
      json.version = version;
      if (json.packages?.['']) json.packages[''].version = version;
      return `${JSON.stringify(json, null, 2)}\n`;
    });
  edit(tree, 'charts/kcover/Chart.yaml', (text) =>
    text.replace(/^version: .*$/m, `version: ${version}`).replace(/^appVersion: .*$/m, `appVersion: ${version}`),
  );
  const heading = '## [Unreleased]';
  let notes = '';
  edit(tree, 'CHANGELOG.md', (text) => {
    const [before, after] = text.split(`${heading}\n`);
    if (after === undefined)
      throw new Refusal(`CHANGELOG.md has no section ${heading}`, 'write what has changed there');
    [notes = ''] = after.split(/^## \[/m);
    if (!/^- /m.test(notes)) throw new Refusal(`${heading} of CHANGELOG.md is empty`, 'write what has changed there');
    return `${before}${heading}\n\n## [${version}] - ${new Date().toISOString().slice(0, 10)}\n${after}`;
  });
  return notes.trim();
}

function makeParts(source: string, notes: string): void {
  console.error('building the program ...');
  run(source, process.execPath, 'scripts/build.ts');
  run(source, 'npm', 'pack', '--silent', '--pack-destination', join(out, 'npm'));
  run(source, options.helm, 'package', 'charts/kcover', '--destination', join(out, 'chart'));
  withoutDevelopment(source);
  const sbom = run(source, 'npm', 'sbom', '--package-lock-only', '--sbom-format', 'cyclonedx');
  writeFileSync(join(out, 'sbom.cdx.json'), sbom);
  writeFileSync(join(out, 'notes.md'), `${notes}\n`);
  const sums = filesOf(out).map((file) => `${sha256(join(out, file))}  ${file}`);
  writeFileSync(join(out, 'SHA256SUMS'), `${sums.join('\n')}\n`);
}

/** `npm sbom --omit dev` also leaves out packages that are needed for both, such as zod. */
function withoutDevelopment(tree: string): void {
  edit(tree, 'package.json', (text) => {
    const { devDependencies: _, ...manifest } = JSON.parse(text) as { devDependencies?: object };
    return JSON.stringify(manifest);
  });
  edit(tree, 'package-lock.json', (text) => {
    const lock = JSON.parse(text) as { packages: Record<string, { dev?: true; devDependencies?: object }> };
    const packages = Object.entries(lock.packages).flatMap(([name, one]) => {
      const { devDependencies: _, ...kept } = one;
      return one.dev === true ? [] : [[name, kept] as const];
    });
    return JSON.stringify({ ...lock, packages: Object.fromEntries(packages) });
  });
}

function edit(tree: string, file: string, change: (text: string) => string): void {
  const text = readFileSync(join(tree, file), 'utf8');
  writeFileSync(join(tree, file), change(text));
}

function filesOf(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(directory.length + 1))
    .toSorted();
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function report(): void {
  const [tarball, chart] = ['npm', 'chart'].map((part) => readdirSync(join(out, part))[0] ?? '');
  const build = 'docker build --push --target';
  console.log(`${basename(out)}: ${filesOf(out).join(', ')} in ${out}`);
  console.log(options.dryRun ? 'A dry run: the working tree is as it was. A release needs by hand:' : 'Now by hand:');
  console.log(`  git commit -am "release: ${version}" && git tag v${version} && git push --follow-tags`);
  console.log(
    `  for t in kcover agent; do ${build} $t -t $REGISTRY/$([ $t = agent ] && echo kcover-agent || echo kcover):${version} .; done`,
  );
  console.log(
    `  npm publish ${join(out, 'npm', tarball ?? '')} && helm push ${join(out, 'chart', chart ?? '')} oci://$REGISTRY`,
  );
}
