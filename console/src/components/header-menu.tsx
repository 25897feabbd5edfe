import { Menu, Skeleton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconCode } from '@tabler/icons-react';
import { lazy, type ReactNode, Suspense } from 'react';
import type { Procedure } from '../code/calls-of.ts';
import { canView } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { Dialog } from './dialog.tsx';
import { MoreMenu } from './more-menu.tsx';

/** The samples contain the path of every query. */
const CodeSamples = lazy(async () => ({ default: (await import('../code/code-samples.tsx')).CodeSamples }));

/** What a screen offers besides its buttons: its items, and how a script requests the same, for those who have data to request. */
export const HeaderMenu = ({
  children,
  procedures,
}: {
  children: ReactNode;
  procedures: readonly Procedure[];
}) => {
  const [isCodeOpen, code] = useDisclosure();
  const hasCode = canView(useSession().roles) && procedures.length > 0;
  if (!hasCode && !children) return null;
  return (
    <>
      <MoreMenu>
        {children}
        {hasCode && (
          <Menu.Item leftSection={<IconCode size={16} stroke={1.6} aria-hidden />} onClick={code.open}>
            Call it from code
          </Menu.Item>
        )}
      </MoreMenu>
      <Dialog isOpen={isCodeOpen} onClose={code.close} title="Call it from code" size="lg">
        <Suspense fallback={<Skeleton height={300} />}>
          <CodeSamples procedures={procedures} />
        </Suspense>
      </Dialog>
    </>
  );
};
