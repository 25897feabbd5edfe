import {
  Avatar,
  Combobox,
  Text,
  TextInput,
  UnstyledButton,
  useCombobox,
  VisuallyHidden,
} from '@mantine/core';
import { IconSearch, IconSelector } from '@tabler/icons-react';
import { useState } from 'react';
import { ScreenHeader } from '../components/screen-header.tsx';
import { useClientChoice, useOneClient } from '../session/client-choice.ts';
import classes from './client-chooser.module.css';

const MAX_WITHOUT_SEARCH = 8;
const ALL = 'all';

/** Above the navigation, for users who see several clients: chooses the client whose data lists show. */
export const ClientChooser = () => {
  const { clients, client, hasAll, choose } = useClientChoice();
  const [search, setSearch] = useState('');
  const combobox = useCombobox({
    onDropdownOpen: () => combobox.focusSearchInput(),
    onDropdownClose: () => {
      combobox.resetSelectedOption();
      setSearch('');
    },
  });
  if (clients.length < 2) return null;
  const matches = (name: string): boolean => name.toLowerCase().includes(search.trim().toLowerCase());
  const name = client?.name ?? (hasAll ? 'All clients' : 'Choose a client');
  return (
    <Combobox
      store={combobox}
      keepMounted={false}
      position="bottom-start"
      onOptionSubmit={(value) => {
        choose(value === ALL ? undefined : Number(value));
        combobox.closeDropdown();
        combobox.focusTarget();
      }}
    >
      <Combobox.Target targetType="button">
        <UnstyledButton className={classes.button} onClick={() => combobox.toggleDropdown()}>
          <VisuallyHidden>Client: </VisuallyHidden>
          <Avatar size={24} color={client ? 'green' : 'gray'} aria-hidden>
            {client ? client.name.charAt(0) : '∗'}
          </Avatar>
          <Text span fw={600} truncate flex={1}>
            {name}
          </Text>
          <IconSelector size={16} stroke={1.6} aria-hidden />
        </UnstyledButton>
      </Combobox.Target>
      <Combobox.Dropdown>
        {clients.length > MAX_WITHOUT_SEARCH && (
          <Combobox.Search
            aria-label="Search clients"
            placeholder="Search"
            value={search}
            onChange={({ currentTarget }) => {
              setSearch(currentTarget.value);
              combobox.selectFirstOption();
            }}
          />
        )}
        <Combobox.Options aria-label="Client" mah="20rem" className="scrolls">
          {hasAll && matches('All clients') && (
            <Combobox.Option value={ALL} active={client === undefined}>
              All clients
            </Combobox.Option>
          )}
          {clients
            .filter((one) => matches(one.name))
            .map((one) => (
              <Combobox.Option key={one.id} value={String(one.id)} active={one.id === client?.id}>
                {one.name}
              </Combobox.Option>
            ))}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
};

/** In place of a screen for one client, as long as none of several is chosen. The arrow keys and Enter choose, too. */
export const ClientQuestion = ({ title }: { title: string }) => {
  const { clients, choose } = useOneClient();
  const [search, setSearch] = useState('');
  const combobox = useCombobox({ opened: true });
  const words = search.trim().toLowerCase();
  const found = clients.filter(({ name }) => name.toLowerCase().includes(words));
  return (
    <>
      <ScreenHeader title={title} lead="This screen shows one client at a time." />
      <section className={`card ${classes.question}`} aria-label="Which client?">
        <Combobox store={combobox} onOptionSubmit={(value) => choose(Number(value))}>
          <Combobox.EventsTarget>
            <TextInput
              label="Which client?"
              placeholder="Search"
              mb="xs"
              leftSection={<IconSearch size={16} stroke={1.6} aria-hidden />}
              value={search}
              onChange={({ currentTarget }) => {
                setSearch(currentTarget.value);
                combobox.selectFirstOption();
              }}
            />
          </Combobox.EventsTarget>
          <Combobox.Options aria-label="Clients" mah="24rem" className="scrolls">
            {found.map(({ id, name }) => (
              <Combobox.Option key={id} value={String(id)} className={classes.option ?? ''}>
                <Avatar size={24} color="green" aria-hidden>
                  {name.charAt(0)}
                </Avatar>
                <span>{name}</span>
              </Combobox.Option>
            ))}
            {found.length === 0 && <Combobox.Empty>No client matches.</Combobox.Empty>}
          </Combobox.Options>
        </Combobox>
      </section>
    </>
  );
};
