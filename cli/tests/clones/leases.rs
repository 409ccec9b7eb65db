//! The hook for DHCP, with a real server and real clients: two leases by two identifiers are those of two machines.

use squall_testing::needs::{DHCP, MOUNTS, NETWORKD};
use squall_testing::suite::Test;
use squall_testing::tests;

use super::hooks::Machine;
use crate::common::text;

/// A server on the other end of eth7. `acknowledged N` waits until it has acknowledged as many requests, and until this
/// machine has the last address.
const SERVER: &str = "\
unshare --net sleep infinity & server=$!
until [ -e /proc/$server/ns/net ] && ! [ /proc/$server/ns/net -ef /proc/self/ns/net ]; do sleep 0.1; done
ip link set lo up; ip link add leases type veth peer name eth7
ip link set leases netns $server; ip link set eth7 up
by_server() { nsenter --net=/proc/$server/ns/net \"$@\"; }
by_server ip address add 10.77.0.1/24 dev leases; by_server ip link set leases up
by_server dnsmasq -C /dev/null --no-daemon --user=root --port=0 --interface=leases --bind-interfaces --no-ping \
    --dhcp-range=10.77.0.10,10.77.0.200,1h --dhcp-leasefile=$machine/leases 2> $machine/served &
acknowledged() {
    until [ $(grep -c DHCPACK $machine/served) -ge $1 ]; do sleep 0.1; done
    address=$(sed -n 's/.*DHCPACK([^ ]* \\([^ ]*\\) .*/\\1/p' $machine/served | tail -n 1)
    until ip -o -4 address show dev eth7 | grep -q -F \" $address/\"; do sleep 0.1; done
}
";

/// What `renew` leads to on this machine, once the client that `start` starts has a lease.
fn renewed(machine: &Machine, start: &str, renew: &str) -> String {
    let script = format!(
        "{SERVER}\n{start}\nacknowledged 1\n{renew}\ncode=$?\nacknowledged 2\n\
         grep DHCPRELEASE $machine/served\n\
         echo \"code $code, leases $(wc -l < $machine/leases), addresses $(\
         ip -o -4 address show dev eth7 scope global | wc -l)\" > $machine/result"
    );
    let output = machine.run_script(&script, &[]);
    assert!(
        machine.path("result").exists(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    assert!(!text(&output.stdout).contains("DHCPRELEASE"));
    machine.read("result").trim_end().to_owned()
}

const HOOK: &str = "sh $hooks/40-dhcp";
const OF_ITS_OWN: &str = "code 0, leases 2, addresses 1";
const SHARED: &str = "code 0, leases 1, addresses 1";

/// dhclient with the default file of leases, and with another, where AppArmor lets it write.
const DHCLIENTS: [&str; 2] = [
    "dhclient -4 -nw -i -cf /etc/dhcp/no-release.conf eth7",
    "dhclient -4 -nw -i -cf /etc/dhcp/no-release.conf -lf /var/lib/dhcp/dhclient.eth7.leases eth7",
];

/// Addresses of the same network: one from another DHCP client, and one of the site.
const OTHERS: &str = "ip address add 10.77.0.251/24 dev eth7 valid_lft 3600 preferred_lft 3600; \
    ip address add 10.77.0.252/24 dev eth7";

fn dhclient_gets_a_lease_of_its_own() {
    for start in DHCLIENTS {
        let restart = format!("kill -KILL $(cat /run/dhclient.pid); {start}");
        for (renew, result) in [
            (HOOK, "code 0, leases 2, addresses 2"),
            (&*restart, "code 0, leases 1, addresses 3"),
        ] {
            let machine = Machine::without_systemd();
            for folder in ["etc/dhcp", "var/lib/dhcp"] {
                std::fs::create_dir(machine.path(folder)).expect("a folder");
            }
            machine.write("etc/dhcp/no-release.conf", "retry 1;\n");
            let renew = format!("{OTHERS}\n{renew}");
            assert_eq!(renewed(&machine, start, &renew), result, "{start}");
            assert_eq!(machine.read("etc/dhcp/no-release.conf"), "retry 1;\n");
        }
    }
}

/// A machine with dhcpcd, whose addresses stay when it ends, as Debian configures it.
fn machine_with_dhcpcd() -> Machine {
    let machine = Machine::without_systemd();
    std::fs::create_dir(machine.path("var/lib/dhcpcd")).expect("a folder");
    machine.write(
        "etc/dhcpcd.conf",
        "duid\npersistent\nnoarp\nnoipv6\nnodev\n",
    );
    machine
}

fn dhcpcd_gets_a_lease_of_its_own() {
    let restart = "dhcpcd -x eth7; dhcpcd -q eth7";
    for (renew, result) in [(HOOK, OF_ITS_OWN), (restart, SHARED)] {
        let machine = machine_with_dhcpcd();
        machine.write_program("bin/ifquery", "[ \"$*\" = '--state eth7' ]");
        machine.write_program("bin/ifup", "[ \"$*\" = '--force eth7' ] && dhcpcd -q eth7");
        assert_eq!(renewed(&machine, "dhcpcd -q eth7", renew), result);
    }
}

/// Restarts dhcpcd, as a service manager does.
const RESTART_DHCPCD: &str = "dhcpcd -x 2> /dev/null; dhcpcd -q";

fn dhcpcd_as_a_service_gets_a_lease_of_its_own() {
    for (renew, result) in [(HOOK, OF_ITS_OWN), (RESTART_DHCPCD, SHARED)] {
        let machine = machine_with_dhcpcd();
        let script = format!("[ $1 != restart ] || {{ {RESTART_DHCPCD}; }}");
        machine.write_program("etc/init.d/dhcpcd", &script);
        assert_eq!(renewed(&machine, "dhcpcd -q", renew), result);
    }
}

/// systemd restarts dhcpcd in one step, which a hook that is ended cannot break off in the middle.
fn dhcpcd_in_a_unit_gets_a_lease_of_its_own() {
    let start = "dhcpcd -q; manager=$(cat /run/dhcpcd/pid)\n\
        echo 0::/system.slice/dhcpcd.service > $machine/cgroup; mkdir /run/systemd /run/systemd/system\n\
        mount --bind $machine/cgroup /proc/$manager/cgroup";
    let machine = machine_with_dhcpcd();
    let record = "echo \"$*\" >> $machine/systemctl";
    machine.write_program("bin/systemctl", &format!("{record}; {RESTART_DHCPCD}"));
    assert_eq!(renewed(&machine, start, HOOK), OF_ITS_OWN);
    assert_eq!(machine.read("systemctl"), "restart -- dhcpcd.service\n");

    let machine = machine_with_dhcpcd();
    machine.write_program("bin/systemctl", "exit 1");
    let script = format!("{SERVER}\n{start}\nacknowledged 1\n{HOOK}");
    let output = machine.run_script(&script, &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    let end = "was ended, and has not started again: start it\n";
    assert!(said.ends_with(end), "{said}");
}

/// Does as systemd does to restart networkd, whose addresses stay then.
const SYSTEMCTL: &str = "\
[ \"$3\" = systemd-networkd.service ] || exit 0
if [ -e $machine/networkd ]; then
    kill -USR2 $(cat $machine/networkd)
    while grep -q '^State:[[:space:]]*[^Z]' /proc/$(cat $machine/networkd)/status 2> /dev/null; do sleep 0.1; done
fi
rights=+net_admin,+net_raw,+net_bind_service,+net_broadcast
setpriv --reuid systemd-network --regid systemd-network --clear-groups --inh-caps $rights --ambient-caps $rights \
    /lib/systemd/systemd-networkd 2> $machine/networkd.log &
echo $! > $machine/networkd";

fn networkd_gets_a_lease_of_its_own() {
    let restart = "systemctl try-restart -- systemd-networkd.service";
    let new_id = "sh $hooks/20-machine-id";
    let by_mac = "code 1, leases 1, addresses 1";
    for (identifier, renew, result) in [
        ("duid", format!("{new_id} && {HOOK}"), OF_ITS_OWN),
        ("duid", HOOK.to_owned(), SHARED),
        (
            "duid",
            format!("{new_id} && {restart}"),
            "code 0, leases 2, addresses 2",
        ),
        ("mac", format!("{new_id} && {HOOK}"), by_mac),
    ] {
        let machine = Machine::new();
        machine.write("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
        machine.write_program("bin/systemctl", SYSTEMCTL);
        std::fs::create_dir(machine.path("etc/systemd")).expect("a folder");
        std::fs::create_dir(machine.path("etc/systemd/network")).expect("a folder");
        machine.write(
            "etc/systemd/network/eth7.network",
            &format!(
                "[Match]\nName=eth7\n[Network]\nDHCP=ipv4\n[DHCPv4]\nClientIdentifier={identifier}\n"
            ),
        );
        let start = format!(
            "mkdir -p /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp\n\
             chown -R systemd-network /run/systemd/netif\n{restart}"
        );
        assert_eq!(renewed(&machine, &start, &renew), result, "{renew}");
    }
}

pub const TESTS: &[Test] = tests![
    dhclient_gets_a_lease_of_its_own: [MOUNTS, DHCP],
    dhcpcd_gets_a_lease_of_its_own: [MOUNTS, DHCP],
    dhcpcd_as_a_service_gets_a_lease_of_its_own: [MOUNTS, DHCP],
    dhcpcd_in_a_unit_gets_a_lease_of_its_own: [MOUNTS, DHCP],
    networkd_gets_a_lease_of_its_own: [MOUNTS, DHCP, NETWORKD],
];
