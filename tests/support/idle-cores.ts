import { cpus } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';

const SAMPLE_MS = 1_500;
/** Of all cores. On two cores, what runs leaves half of one unused. */
const ENOUGH = 0.25;

const readTimes = () => {
  const times = cpus().map((core) => core.times);
  const idle = times.reduce((sum, time) => sum + time.idle, 0);
  return { idle, all: times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, idle) };
};

/** Whether cores are idle for a moment. Systems that do not tell count as busy. */
const areCoresIdle = async (): Promise<boolean> => {
  const before = readTimes();
  await pause(SAMPLE_MS);
  const after = readTimes();
  return (after.idle - before.idle) / (after.all - before.all) >= ENOUGH;
};

/** Waits for idle cores: one caller after another, so that the next one sees what the last one has started. */
export const createIdleGate = () => {
  let last: Promise<unknown> = Promise.resolve();
  /** Resolves early once `isOver` returns true. */
  return (isOver: () => boolean): Promise<void> => {
    const wait = async (): Promise<void> => {
      while (!isOver() && !(await areCoresIdle()));
    };
    const turn = last.then(wait);
    last = turn;
    return turn;
  };
};
