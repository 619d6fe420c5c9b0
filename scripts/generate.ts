/** Writes the reference pages that are generated from code; with --check, fails when one of them is out of date. */

import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { alertRules } from './generate/alert-rules.ts';
import { admissionPage, chartAdmission } from './generate/chart-admission.ts';
import { chartRbac } from './generate/chart-rbac.ts';
import { chartSchema } from './generate/chart-schema.ts';
import { cliPage } from './generate/cli-page.ts';
import { conditionsPage } from './generate/conditions-page.ts';
import { errorsPage } from './generate/errors-page.ts';
import { grafanaDashboard } from './generate/grafana-dashboard.ts';
import { metricsPage } from './generate/metrics-page.ts';
import { policyPage } from './generate/policy-page.ts';
import { rbacPage, repairPage } from './generate/rbac-page.ts';
import { settingsPage } from './generate/settings-page.ts';
import { sourcesPage } from './generate/sources-page.ts';
import { statusFileSchema } from './generate/status-file-schema.ts';
import { withStateDiagrams } from './generate/state-diagrams.ts';

/** What each page should be; one that people write too is given as it is. */
const pages: Readonly<Record<string, (page: string) => string>> = {
  'docs/architecture.md': withStateDiagrams,
  'docs/reference/cli.md': cliPage,
  'docs/reference/errors.md': errorsPage,
  'docs/reference/metrics.md': metricsPage,
  'docs/reference/node-conditions.md': conditionsPage,
  'docs/reference/policy.md': policyPage,
  'docs/reference/settings.md': settingsPage,
  'docs/reference/sources.md': sourcesPage,
  'docs/reference/status-file.schema.json': statusFileSchema,
  'docs/reference/rbac.yaml': rbacPage,
  'docs/reference/rbac-repair.yaml': repairPage,
  'docs/reference/admission.yaml': admissionPage,
  'charts/kcover/files/alerts.yaml': alertRules,
  'charts/kcover/files/dashboard.json': grafanaDashboard,
  'charts/kcover/templates/admission.yaml': chartAdmission,
  'charts/kcover/templates/rbac.yaml': chartRbac,
  'charts/kcover/values.schema.json': chartSchema,
};

const pathOf = (page: string): string => fileURLToPath(new URL(`../${page}`, import.meta.url));

const current = async (path: string): Promise<string> => (existsSync(path) ? readFile(path, 'utf8') : '');

const check = process.argv.includes('--check');
const stale: string[] = [];
for (const [page, render] of Object.entries(pages)) {
  const path = pathOf(page);
  const before = await current(path);
  const text = render(before);
  if (before === text) continue;
  stale.push(page);
  if (check) continue;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

for (const page of stale) console.log(check ? `${page} is out of date: npm run generate` : `wrote ${page}`);
if (check && stale.length > 0) process.exitCode = 1;
