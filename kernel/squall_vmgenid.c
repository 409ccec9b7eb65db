// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows the page with the virtual machine generation ID to user space.
 *
 * A hypervisor writes a new ID of 16 bytes into the guest's memory before a
 * restored or cloned guest runs again ("Virtual Machine Generation ID",
 * Microsoft, 2012). The interrupt that announces it comes later, so a program
 * notices a clone at once only if it reads the page itself.
 *
 * /dev/squall-vmgenid:
 *   read  the ID, then its offset in its page as a native-endian u64
 *   mmap  that page, shared and read-only
 *   poll  readable once the kernel has handled the interrupt, until the
 *         next read
 *
 * The device belongs to drivers/virt/vmgenid.c. This module finds it without
 * binding it, and never writes to the page.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/acpi.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/notifier.h>
#include <linux/pgtable.h>
#include <linux/poll.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/version.h>
#include <linux/wait.h>

#include "squall_vmgenid.h"

#define ID_LEN 16

/* The data of a read. */
struct head {
	u8 id[ID_LEN];
	u64 offset;
};

/* The page's address in the kernel, and the frame that user space maps. */
static void *page;
static unsigned long pfn;

/* The ID's offset in the page. */
static size_t offset;

/* Shows a copy of the page, which never changes: the control of experiments. */
static const bool shows_copy = IS_ENABLED(CONFIG_SQUALL_VMGENID_COPY);

#ifdef CONFIG_ACPI
static const char *address_from(acpi_handle handle, phys_addr_t *address)
{
	struct acpi_buffer buffer = { ACPI_ALLOCATE_BUFFER, NULL };
	const char *fault = NULL;
	union acpi_object *halves;

	if (ACPI_FAILURE(acpi_evaluate_object(handle, "ADDR", NULL, &buffer)))
		return "ADDR gives nothing";
	halves = buffer.pointer;
	if (!halves || halves->type != ACPI_TYPE_PACKAGE ||
	    halves->package.count != 2 ||
	    halves->package.elements[0].type != ACPI_TYPE_INTEGER ||
	    halves->package.elements[1].type != ACPI_TYPE_INTEGER ||
	    halves->package.elements[0].integer.value > U32_MAX ||
	    halves->package.elements[1].integer.value > U32_MAX)
		fault = "ADDR gives no package of two halves of an address";
	else
		*address = halves->package.elements[0].integer.value |
			   halves->package.elements[1].integer.value << 32;
	ACPI_FREE(buffer.pointer);
	return fault;
}

/* The names by which drivers/virt/vmgenid.c knows the device. */
static int find_by_acpi(phys_addr_t *address, const char **fault)
{
	static const char * const names[] = { "VM_GEN_COUNTER", "VMGENCTR" };
	struct acpi_device *device = NULL;
	int i;

	for (i = 0; i < ARRAY_SIZE(names) && !device; i++)
		device = acpi_dev_get_first_match_dev(names[i], NULL, -1);
	if (!device)
		return -ENODEV;
	*fault = address_from(device->handle, address);
	acpi_dev_put(device);
	return 0;
}
#else
static int find_by_acpi(phys_addr_t *address, const char **fault)
{
	return -ENODEV;
}
#endif

static int find_by_device_tree(phys_addr_t *address, const char **fault)
{
	struct device_node *node;
	struct resource place;

	node = of_find_compatible_node(NULL, NULL, "microsoft,vmgenid");
	if (!of_device_is_available(node)) {
		of_node_put(node);
		return -ENODEV;
	}
	if (of_address_to_resource(node, 0, &place))
		*fault = "the device tree gives no address";
	else if (resource_size(&place) < ID_LEN)
		*fault = "the device tree gives it fewer than 16 bytes";
	else
		*address = place.start;
	of_node_put(node);
	return 0;
}

static bool lies_in(phys_addr_t start, unsigned long flags, unsigned long desc)
{
	return region_intersects(start, PAGE_SIZE, flags, desc) ==
	       REGION_INTERSECTS;
}

/*
 * Whether nobody else uses this page: the device must not show the system's
 * memory, and an ID at an address without memory would never change. Only x86
 * distinguishes reserved memory from no memory.
 */
static bool is_reserved(phys_addr_t start)
{
	if (!IS_ENABLED(CONFIG_X86))
		return region_intersects(start, PAGE_SIZE,
					 IORESOURCE_SYSTEM_RAM,
					 IORES_DESC_NONE) == REGION_DISJOINT;
	return lies_in(start, IORESOURCE_MEM, IORES_DESC_RESERVED) ||
	       lies_in(start, IORESOURCE_MEM, IORES_DESC_ACPI_NV_STORAGE);
}

/* The fault of the ID's address, or NULL. */
static const char *fault_of(phys_addr_t address)
{
	if (!address)
		return "the address is 0";
	if (!IS_ALIGNED(address, 8))
		return "the address is not aligned to 8 bytes";
	if (offset_in_page(address) > PAGE_SIZE - ID_LEN)
		return "the ID crosses the end of a page";
	if (!is_reserved(address & PAGE_MASK))
		return "the page is not in reserved memory";
	return NULL;
}

/* Number of clones that the kernel has noticed. */
static atomic_long_t clones;
/* Callers of poll that wait for the next one. */
static DECLARE_WAIT_QUEUE_HEAD(waiters);

static int notice_clone(struct notifier_block *block, unsigned long action,
			void *data)
{
	atomic_long_inc(&clones);
	wake_up_interruptible(&waiters);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = notice_clone };

/* Keeps the number of clones at the last open or read as the file's data. */
static void remember_clones(struct file *file)
{
	file->private_data = (void *)atomic_long_read(&clones);
}

static __poll_t poll_clones(struct file *file, poll_table *table)
{
	poll_wait(file, &waiters, table);
	if ((long)file->private_data == atomic_long_read(&clones))
		return 0;
	return EPOLLIN | EPOLLRDNORM;
}

static ssize_t read_head(struct file *file, char __user *buffer, size_t count,
			 loff_t *position)
{
	struct head head = { .offset = offset };

	remember_clones(file);
	memcpy(head.id, page + offset, ID_LEN);
	return simple_read_from_buffer(buffer, count, position, &head,
				       sizeof(head));
}

static int map_page(struct file *file, struct vm_area_struct *vma)
{
	const unsigned long access = VM_READ | VM_WRITE | VM_EXEC;

	if (vma->vm_pgoff || vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	if ((vma->vm_flags & access) != VM_READ)
		return -EACCES;
	/* A shared mapping cannot become writable: the file is read-only. */
	if (!(vma->vm_flags & VM_MAYSHARE) || vma->vm_flags & VM_MAYWRITE)
		return -EACCES;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_clear(vma, VM_MAYEXEC);
#else
	vma->vm_flags &= ~VM_MAYEXEC;
#endif
	/* As the kernel maps it: cached, and shared with the hypervisor. */
	return remap_pfn_range(vma, vma->vm_start, pfn, PAGE_SIZE,
			       shows_copy ? vma->vm_page_prot :
			       pgprot_decrypted(vma->vm_page_prot));
}

static int open_to_read(struct inode *inode, struct file *file)
{
	if (file->f_mode & FMODE_WRITE)
		return -EACCES;
	remember_clones(file);
	return 0;
}

/* A mapping keeps its file, and that keeps the module. */
static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open_to_read,
	.read = read_head,
	.poll = poll_clones,
	.mmap = map_page,
	.llseek = default_llseek,
};

static struct miscdevice shown = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "squall-vmgenid",
	.fops = &operations,
	.mode = 0444,
};

/* Maps the page at this address, or makes a copy of it. */
static int take_page(phys_addr_t start)
{
	void *copy;

	page = memremap(start, PAGE_SIZE, MEMREMAP_WB | MEMREMAP_DEC);
	if (!page)
		return -ENXIO;
	pfn = PHYS_PFN(start);
	if (!shows_copy)
		return 0;
	copy = (void *)__get_free_page(GFP_KERNEL);
	if (copy)
		copy_page(copy, page);
	memunmap(page);
	page = copy;
	pfn = PHYS_PFN(virt_to_phys(copy));
	return copy ? 0 : -ENOMEM;
}

const u64 *squall_vmgenid_id(void)
{
	return page + offset;
}
EXPORT_SYMBOL_GPL(squall_vmgenid_id);

static void give_page_back(void)
{
	if (shows_copy)
		free_page((unsigned long)page);
	else
		memunmap(page);
}

static int __init squall_vmgenid_init(void)
{
	const char *fault = NULL;
	phys_addr_t address = 0;
	int error;

	if (find_by_acpi(&address, &fault) &&
	    find_by_device_tree(&address, &fault))
		return -ENODEV;
	if (!fault)
		fault = fault_of(address);
	if (fault) {
		pr_err("refused: %s (%pa)\n", fault, &address);
		return -EINVAL;
	}
	offset = offset_in_page(address);
	error = take_page(address & PAGE_MASK);
	if (error) {
		pr_err("refused: the page cannot be mapped (%pa)\n", &address);
		return error;
	}
	error = register_random_vmfork_notifier(&notifier);
	if (error)
		goto give_back;
	error = misc_register(&shown);
	if (error)
		goto unregister;
	pr_info("shows %s with the ID at %pa, offset %zu\n",
		shows_copy ? "a copy of the page" : "the page", &address,
		offset);
	return 0;

unregister:
	unregister_random_vmfork_notifier(&notifier);
give_back:
	give_page_back();
	return error;
}
module_init(squall_vmgenid_init);

static void __exit squall_vmgenid_exit(void)
{
	misc_deregister(&shown);
	unregister_random_vmfork_notifier(&notifier);
	give_page_back();
}
module_exit(squall_vmgenid_exit);

MODULE_DESCRIPTION("Shows the page with the virtual machine generation ID");
MODULE_AUTHOR("the squall authors");
MODULE_LICENSE("GPL");
