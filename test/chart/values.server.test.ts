/** Values that helm accepts, and the errors for values that it refuses. */

import { describe, expect, it } from '@jest/globals';
import { chartDirectory } from '../../testbed/chart.ts';
import { fullValues, testHelm, tryRender, valuesFile } from './rendered.ts';

describe('helm lint', () => {
  it.each([
    ['the defaults', []],
    ['a file that sets nearly everything', ['--values', fullValues]],
  ])('reports nothing about %s', async (_, args) => {
    const { code, stdout, tail } = await testHelm().run('lint', '--strict', chartDirectory, ...args);
    expect({ code, tail }).toMatchObject({ code: 0 });
    expect(stdout).toContain('1 chart(s) linted, 0 chart(s) failed');
    expect(stdout).not.toMatch(/WARNING|ERROR/);
  });
});

describe('values', () => {
  it.each<readonly [string, object, readonly string[]]>([
    ['an unknown key', { controler: { replicas: 2 } }, ["additional properties 'controler' not allowed"]],
    [
      'an unknown setting',
      { settings: { worker: { mod: 'act' } } },
      ['/settings/worker', "additional properties 'mod' not allowed"],
    ],
    ['an unknown mode', { settings: { worker: { mode: 'acting' } } }, ['/settings/worker/mode', "'observe', 'act'"]],
    ['a number where text belongs', { temporal: { namespace: 7 } }, ['/temporal/namespace', 'got number, want string']],
    ['text where a number belongs', { controller: { replicas: 'two' } }, ['/controller/replicas', 'want integer']],
    [
      'a duration without a unit',
      { settings: { agent: { heartbeat: '10' } } },
      ['/settings/agent/heartbeat', 'does not match pattern'],
    ],
    [
      'a number out of range',
      { settings: { worker: { recovery: { attempts: 11 } } } },
      ['/settings/worker/recovery/attempts', 'maximum: got 11, want 10'],
    ],
    [
      'an invalid fault code',
      { settings: { worker: { faults: { codes: { 'gpu/79': 'warn' } } } } },
      ['/settings/worker/faults/codes', "additional properties 'gpu/79' not allowed"],
    ],
    ['an address without a port', { temporal: { address: 'temporal.example.com' } }, ['/temporal/address']],
    [
      'a setting that the chart decides',
      { settings: { controller: { intake: { agentAccount: 'a/b' } } } },
      ["additional properties 'agentAccount' not allowed"],
    ],
    [
      'a Lease of another name',
      { settings: { controller: { leaderElection: { name: 'x' } } } },
      ["additional properties 'name' not allowed"],
    ],
    [
      'a certificate without its authority',
      { intake: { tls: { existingSecret: 'mine' } } },
      ['intake.tls.caConfigMap is needed with intake.tls.existingSecret'],
    ],
    [
      'an issuer without its authority',
      { intake: { tls: { certManager: { issuerRef: { name: 'x' } } } } },
      ['intake.tls.caConfigMap is needed'],
    ],
    ['an invalid directory', { agent: { stateDirectory: '/var/lib/kcover/' } }, ['/agent/stateDirectory']],
    [
      'an account that is neither created nor named',
      { worker: { serviceAccount: { create: false } } },
      ['worker.serviceAccount.name is needed'],
    ],
    [
      'two controllers without an election',
      { settings: { controller: { leaderElection: { enabled: false } } } },
      ['controller.replicas must be 1 where settings.controller.leaderElection.enabled is false'],
    ],
  ])('are refused with %s', async (_, values, said) => {
    const { code, tail } = await tryRender(valuesFile(values));
    expect(code).not.toBe(0);
    for (const words of said) expect(tail).toContain(words);
  });
});
