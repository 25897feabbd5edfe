import { Avatar, Popover, Skeleton, Text, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconSelector } from '@tabler/icons-react';
import { Suspense } from 'react';
import { ScreenHeader } from '../components/screen-header.tsx';
import { lazyPart } from '../lazy-part.ts';
import { useClientChoice, useOneClient } from '../session/client-choice.ts';
import classes from './client-chooser.module.css';

const ClientList = lazyPart(() => import('./client-list.tsx'), 'ClientList');

const LIST_HEIGHT = 320;

/** Above the navigation, for users who see several clients: chooses the client whose data lists show. */
export const ClientChooser = () => {
  const { clients, client, hasAll, choose } = useClientChoice();
  const [isOpen, list] = useDisclosure();
  if (clients.length < 2) return null;
  const chooseAndClose = (id?: number): void => {
    choose(id);
    list.close();
  };
  return (
    <Popover opened={isOpen} onDismiss={list.close} position="bottom-start" width={280} trapFocus returnFocus>
      <Popover.Target>
        <UnstyledButton
          className={classes.button}
          onClick={list.toggle}
          onPointerEnter={() => void ClientList.preload?.()}
        >
          <VisuallyHidden>Client: </VisuallyHidden>
          <Avatar size={24} color={client ? 'green' : 'gray'} aria-hidden>
            {client ? client.name.charAt(0) : '∗'}
          </Avatar>
          <Text span fw={600} truncate flex={1}>
            {client?.name ?? (hasAll ? 'All clients' : 'Choose a client')}
          </Text>
          <IconSelector size={16} stroke={1.6} aria-hidden />
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown>
        <Suspense fallback={<Skeleton height={LIST_HEIGHT} />}>
          <ClientList
            label="Client"
            clients={clients}
            chosen={client?.id}
            onAll={hasAll ? () => chooseAndClose() : undefined}
            onChoose={chooseAndClose}
            isFocused
          />
        </Suspense>
      </Popover.Dropdown>
    </Popover>
  );
};

/** Asks for the client before a screen that shows one of several. */
export const ClientQuestion = ({ title }: { title: string }) => {
  const { clients, choose } = useOneClient();
  return (
    <>
      <ScreenHeader title={title} lead="This screen shows one client at a time." />
      <section className={`card ${classes.question}`} aria-label="Which client?">
        <Suspense fallback={<Skeleton height={LIST_HEIGHT} />}>
          <ClientList label="Which client?" clients={clients} onChoose={choose} />
        </Suspense>
      </section>
    </>
  );
};
