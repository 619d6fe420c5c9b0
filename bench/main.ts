import { Command } from 'commander';
import { recoveryCommand } from './recovery.ts';

await new Command('bench')
  .description('Measures kcover on the testbed: real Temporal, real Kubernetes control plane, simulated GPU nodes')
  .addCommand(recoveryCommand())
  .parseAsync();
// Watches and connections of a library must not keep a measurement that has ended.
process.exit();
