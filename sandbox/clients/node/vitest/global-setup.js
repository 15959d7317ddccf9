import { availableParallelism } from 'node:os';
import runner from '../lib/runner.cjs';

export default function setup(project) {
  const workers = Number(project?.config?.maxWorkers);
  return runner.startAll(workers > 0 ? workers : availableParallelism());
}
