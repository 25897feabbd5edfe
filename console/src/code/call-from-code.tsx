import { Button, Skeleton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { lazy, Suspense } from 'react';
import { Dialog } from '../components/dialog.tsx';
import type { Procedure } from './calls-of.ts';

/** The samples contain the path of every query. */
const CodeSamples = lazy(async () => ({ default: (await import('./code-samples.tsx')).CodeSamples }));

/** Shows how a script requests the same as the screen. */
export const CallFromCode = ({ procedures }: { procedures: readonly Procedure[] }) => {
  const [isOpen, { open, close }] = useDisclosure();
  return (
    <>
      <Button variant="default" onClick={open}>
        Call it from code
      </Button>
      <Dialog isOpen={isOpen} onClose={close} title="Call it from code" size="lg">
        <Suspense fallback={<Skeleton height={300} />}>
          <CodeSamples procedures={procedures} />
        </Suspense>
      </Dialog>
    </>
  );
};
