import { KcoverError } from '../../contract/errors.ts';
import type { Notification } from '../../contract/notify/notification.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { readSettings } from '../settings/file.ts';

export const notifyTest: CommandEntry = {
  summary: 'Send a test notification to one route of the settings, from here, and say what came back.',
  arguments: [{ name: '<route>', describe: 'Name of the route' }],
  options: [
    { ...sharedOptions.workerConfig, describe: 'Settings file of the worker', required: true },
    sharedOptions.output,
  ],
  examples: [
    'kcover notify test oncall --config worker.yaml',
    'kcover notify test chat --config worker.yaml --output json',
  ],
  exits: ['notFound', 'unreachable'],
  async run(typed, { environment, now }) {
    const { settings } = await readSettings('worker', typed.value('config'));
    const { deliver } = await import('../../activities/notify/deliver.ts');
    const name = typed.argument('route');
    const route = settings.notifications.routes.find((one) => one.name === name);
    if (!route) {
      const known = settings.notifications.routes.map((one) => one.name).join(', ');
      throw new KcoverError('not-found', `the settings have no route ${name}${known === '' ? '' : `, but ${known}`}`, {
        what: 'nothing is sent',
        remedy: 'notifications.routes of the worker',
      });
    }
    await deliver(route, [testNotification(environment.user, now)]);
    return { data: { route: name, delivered: true }, text: `${name}: the test notification was taken` };
  },
};

const testNotification = (user: string, now: number): Notification => ({
  schema: 1,
  id: `test-${now}`,
  reason: 'Test',
  severity: 'info',
  about: 'kcover',
  incident: `test/${now}`,
  message: `a test by ${user}: nothing has happened`,
  next: 'nothing',
  stop: 'nothing to stop',
  at: new Date(now).toISOString(),
  resolves: false,
});
