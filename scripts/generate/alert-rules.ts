import { stringify } from 'yaml';
import { type AlertRule, alertTable } from '../../contract/metrics/alerts.ts';

/** The page with a section for each alert. */
export const runbooks = 'docs/runbooks.md';

/** Prometheus' file of rules. The chart puts the address of the repository before the page of the runbooks. */
export function alertRules(): string {
  const rules = Object.entries<AlertRule>(alertTable).map(([alert, rule]) => ({
    alert,
    expr: rule.expression,
    for: rule.for,
    labels: { severity: rule.severity },
    annotations: {
      summary: rule.summary,
      description: rule.description,
      runbook_url: `${runbooks}#${alert.toLowerCase()}`,
    },
  }));
  const made = '# Made from contract/metrics/alerts.ts by npm run generate; changes here are lost.';
  return `${made}\n${stringify({ groups: [{ name: 'kcover', rules }] }, { lineWidth: 0 })}`;
}
