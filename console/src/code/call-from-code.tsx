import { ActionIcon, Skeleton, Tooltip } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconCode } from '@tabler/icons-react';
import { lazy, Suspense } from 'react';
import { Dialog } from '../components/dialog.tsx';
import { canView } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import type { Procedure } from './calls-of.ts';

/** The samples contain the path of every query. */
const CodeSamples = lazy(async () => ({ default: (await import('./code-samples.tsx')).CodeSamples }));

/** Shows how a script requests the same as the screen. Members, who have apps and no data to request, do not see it. */
export const CallFromCode = ({ procedures }: { procedures: readonly Procedure[] }) => {
  const [isOpen, { open, close }] = useDisclosure();
  if (!canView(useSession().roles)) return null;
  return (
    <>
      <Tooltip label="Call it from code">
        <ActionIcon
          variant="default"
          size={36}
          visibleFrom="sm"
          aria-label="Call it from code"
          onClick={open}
        >
          <IconCode size={18} stroke={1.6} aria-hidden />
        </ActionIcon>
      </Tooltip>
      <Dialog isOpen={isOpen} onClose={close} title="Call it from code" size="lg">
        <Suspense fallback={<Skeleton height={300} />}>
          <CodeSamples procedures={procedures} />
        </Suspense>
      </Dialog>
    </>
  );
};
