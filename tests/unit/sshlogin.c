// Tests of remote/sshlogin.h: lists of machines as GNU parallel 20221122 reads them, and the command line of a worker.

#include "remote/sshlogin.h"

#include "base/alloc.h"
#include "shells.h"

#include <sys/stat.h>

#define BAD_USER "the name of a user has none of '`\";&<>|(){}, does not begin with '-' and does not end with a backslash"

static const char *file_text; // of every file

static int read_text(void *arg, const char *name, struct buf *ret_text, char **ret_error) {
	struct buf *names = arg;
	buf_printf(names, "<%s>", name);
	if (!file_text) {
		*ret_error = xstrdup("no file");
		return -1;
	}
	buf_adds(ret_text, file_text);
	return 0;
}

// Each machine as CPUS/KIND COMMAND|USER|HOST|PORT=NAME, one a line.
static void show(const struct sshlogins *list, struct buf *out) {
	for (size_t i = 0; i < list->n; ++i) {
		const struct sshlogin *login = &list->logins[i];
		buf_printf(out, "%s%u%c %s|%s|%s|%s=%s", i > 0 ? "\n" : "", login->cpus, "lsx"[login->kind], login->command ? login->command : "",
		           login->user ? login->user : "", login->host, login->port ? login->port : "", login->name);
	}
}

static void check_read(bool is_file, const char *text, const char *expected, const char *files) {
	struct sshlogins list = SSHLOGINS_INIT;
	struct buf out = BUF_INIT, names = BUF_INIT;
	char *error = NULL;
	int result = sshlogins_add(&list, text, is_file, read_text, &names, &error);
	if (result == 0) {
		result = sshlogins_apply_groups(&list, NULL, &error);
	}
	if (result == 0) {
		show(&list, &out);
	} else {
		buf_adds(&out, error);
	}
	check_string(buf_str(&out), expected);
	check_string(buf_str(&names), files);
	free(error);
	buf_fini(&out);
	buf_fini(&names);
	sshlogins_fini(&list);
}

#define READS(text, expected) check_read(false, text, expected, "")

static void test_one(void) {
	READS(":", "0l ||:|=:");
	READS("4/:", "4l ||:|=:");
	READS("host", "0s ||host|=host");
	READS("8/host", "8s ||host|=host");
	READS("user@host", "0s |user|host|=user@host");
	READS("user@host.example.com:2222", "0s |user|host.example.com|2222=user@host.example.com:2222");
	READS("host#22", "0s ||host|22=host:22");
	READS("192.168.1.10:22", "0s ||192.168.1.10|22=192.168.1.10:22");
	READS("2//usr/bin/ssh user@host", "2s /usr/bin/ssh|user|host|=/usr/bin/ssh user@host");
	READS("4//usr/bin/ssh -p 2222 user@host", "4s /usr/bin/ssh -p 2222|user|host|=/usr/bin/ssh -p 2222 user@host");
	READS("ssh -l me host:22", "0s ssh -l me||host|22=ssh -l me host:22");
	READS(" \t host \t", "0s ||host|=host");
	READS("99999999999999999999/host", "100000s ||host|=host");
}

static void test_ipv6(void) {
	READS("[2001:db8::1]:80", "0s ||2001:db8::1|80=[2001:db8::1]:80");
	READS("[::1]", "0s ||::1|=::1");
	READS("::1", "0s ||::1|=::1");
	READS("::1p2222", "0s ||::1|2222=[::1]:2222");
	READS("::1#2222", "0s ||::1|2222=[::1]:2222");
	READS("2001:db8::1.80", "0s ||2001:db8::1|80=[2001:db8::1]:80");
	READS("3/user@[fe80::1%eth0]:22", "3s |user|fe80::1%eth0|22=user@[fe80::1%eth0]:22");
	READS("[::1", "--sshlogin '[::1': '[' is followed by an IPv6 address and ']'");
}

static void test_lists(void) {
	READS("a,b:22,:", "0s ||a|=a\n0s ||b|22=b:22\n0l ||:|=:");
	READS("a\nb,\n c ", "0s ||a|=a\n0s ||b|=b\n0s ||c|=c");
	READS("ssh -J j1\\,j2 a,b", "0s ssh -J j1,j2||a|=ssh -J j1,j2 a\n0s ||b|=b");
	READS("ssh -J j1,,j2 a,b", "0s ssh -J j1,j2||a|=ssh -J j1,j2 a\n0s ||b|=b");
	READS("", "");
	READS(",a,", "0s ||a|=a");
	// the same one is there once, with the N that was given last
	READS("2/a,a", "2s ||a|=a");
	READS("2/a,0/a", "2s ||a|=a");
	READS("0/a,2/a", "2s ||a|=a");
	// one without CPUs has no slots by default
	READS("0/a,b", "0s ||b|=b");
	READS("@g/0/a,b,@g", "no machine of --sshlogin has a slot: 0/HOST says that the machine has 0 CPUs");
	READS("2/a,3/a,b", "3s ||a|=a\n0s ||b|=b");
	READS("a,u@a,a:22", "0s ||a|=a\n0s |u|a|=u@a\n0s ||a|22=a:22");
}

static void test_groups(void) {
	READS("@g/a,@h/b", "0s ||a|=a\n0s ||b|=b");
	READS("@g/a,@h/b,@g", "0s ||a|=a");
	READS("@g+h/4/a,@h/b,c,@h", "4s ||a|=a\n0s ||b|=b");
	READS("@g/a,@h/b,c,@g,@h", "0s ||a|=a\n0s ||b|=b");
	READS("@g/a,@h/b,c,@g+c", "0s ||a|=a\n0s ||c|=c");
	READS("4/a,b,@4/a", "4s ||a|=a\n0s ||b|=b"); // this is machine a in group 4, which is there already
	READS("a,b,@b", "0s ||b|=b");
	READS("a,@none", "no machine is in the group 'none' of --sshlogin");
}

static void test_refused(void) {
	READS("-oProxyCommand=x", "--sshlogin '-oProxyCommand=x': a host that begins with '-' would be an option of ssh");
	READS("4/-x", "--sshlogin '4/-x': a host that begins with '-' would be an option of ssh");
	READS("DOMAIN\\user@host", "0s |DOMAIN\\user|host|=DOMAIN\\user@host");
	READS("user@example.com@host:22", "0s |user@example.com|host|22=user@example.com@host:22");
	READS("$u-@host", "0s |$u-|host|=$u-@host");
	READS("u@-x", "--sshlogin 'u@-x': a host that begins with '-' would be an option of ssh");
	READS("-u@x", "--sshlogin '-u@x': " BAD_USER);
	READS("@g/@x", "--sshlogin '@g/@x': " BAD_USER);
	for (const char *at = "'`\";&<>|(){}\\\001\177"; *at; ++at) { // a backslash only in the last place
		char text[] = {'u', *at, '@', 'x', '\0'}, *why = NULL;
		struct sshlogins list = {.n = 0};
		check(sshlogins_add(&list, text, false, read_text, NULL, &why) != 0 && strstr(why, BAD_USER));
		free(why);
		sshlogins_fini(&list);
	}
	READS("@", "--sshlogin '@': behind '@' the name of the group is missing");
	READS("@/a", "--sshlogin '@/a': behind '@' the name of the group is missing");
	READS("/a", "--sshlogin '/a': '/' stands behind a number of CPUs, or behind @group, and in front of the host");
	READS("a/", "--sshlogin 'a/': '/' stands behind a number of CPUs, or behind @group, and in front of the host");
	READS("4/", "--sshlogin '4/': the name of the host is missing");
	READS("a;touch /b", "--sshlogin 'a;touch /b': the host stands behind the last blank; its name has only letters, digits, '.', '_' and '-'");
	READS("u:secret@x", "--sshlogin 'u:secret@x': a password cannot be given here: use ssh-agent or ssh-copy-id");
	READS("u@", "--sshlogin 'u@': the name of the host is missing");
	READS("-x -y host", "--sshlogin '-x -y host': a command is missing in front of the blank");
	READS("host:ssh", "--sshlogin 'host:ssh': a port is a number from 1 to 65535");
	READS("host:0", "--sshlogin 'host:0': a port is a number from 1 to 65535");
	READS("host:70000", "--sshlogin 'host:70000': a port is a number from 1 to 65535");
	READS("a;b", "--sshlogin 'a;b': the name of a host has only letters, digits, '.', '_' and '-'");
	READS("ssh :", "--sshlogin 'ssh :': this machine needs no ssh");
}

static void test_files(void) {
	file_text = "# machines\n\n  # more\n4/a\n  b  \nc,d\n2/a";
	check_read(true, "hosts", "2s ||a|=a\n0s ||b|=b\n0s ||c|=c\n0s ||d|=d", "<hosts>");
	check_read(false, "x,..", "0s ||x|=x\n2s ||a|=a\n0s ||b|=b\n0s ||c|=c\n0s ||d|=d", "<..>");
	check_read(false, "-", "2s ||a|=a\n0s ||b|=b\n0s ||c|=c\n0s ||d|=d", "<->");
	file_text = "..\n";
	check_read(true, "hosts", "--sshloginfile '..' names itself", "<hosts><..><..><..><..><..><..><..>");
	file_text = "# none\na\nb,-x\n";
	check_read(true, "hosts", "--sshloginfile hosts:3: '-x': a host that begins with '-' would be an option of ssh", "<hosts>");
	check_read(false, "c,..", "--sshloginfile ..:3: '-x': a host that begins with '-' would be an option of ssh", "<..>");
	file_text = NULL;
	check_read(true, "hosts", "no file", "<hosts>");
}

static void test_launch(void) {
	struct sshlogins list = SSHLOGINS_INIT;
	struct buf out = BUF_INIT;
	char *error = NULL;
	check(sshlogins_add_launch(&list, NULL, 0, "flux run -N1 {}", &error) == 0 && sshlogins_add_launch(&list, NULL, 0, "flux run -N1 {}", &error) == 0);
	show(&list, &out);
	check_string(buf_str(&out), "0x flux run -N1 {}||flux run -N1|=flux run -N1\n0x flux run -N1 {}||flux run -N1|=flux run -N1 (2)");
	check(sshlogins_has_remote(&list));
	check(sshlogins_add_launch(&list, NULL, 0, "flux run", &error) != 0);
	check_string(error, "--launch 'flux run' must hold {} once: {} stands for the worker's command line");
	free(error);
	check(sshlogins_add_launch(&list, NULL, 0, "{} {}", &error) != 0);
	free(error);
	check(sshlogins_add_launch(&list, NULL, 0, "{}", &error) != 0);
	free(error);
	buf_fini(&out);
	sshlogins_fini(&list);
}

static void check_jobs(const char *machine, const char *jobs, const char *expected) {
	struct sshlogins list = SSHLOGINS_INIT;
	char *error, text[SSHLOGIN_JOBS_TEXT];
	check(sshlogins_add(&list, machine, false, read_text, NULL, &error) == 0);
	check_string(sshlogin_jobs(&list.logins[0], jobs, text) == 0 ? text : "none", expected);
	sshlogins_fini(&list);
}

static void test_jobs(void) {
	check_jobs("a", NULL, "");
	check_jobs("4/a", NULL, "4");
	check_jobs("a", "2", "2");
	check_jobs("4/a", "2", "2");
	check_jobs("a", "50%", "50%");
	check_jobs("4/a", "50%", "2");
	check_jobs("4/a", "+2", "6");
	check_jobs("4/a", "-3", "1");
	check_jobs("4/a", "-9", "1");
	check_jobs("1/a", "10%", "1");
	check_jobs("0/a", "3", "3");
	check_jobs("0/a", "+2", "2");
	check_jobs("a", "+2", "+2");
	check_jobs("a", "0", "0");
	check_jobs("a", "auto", "auto");
	check_jobs("a", "auto:2-9", "auto:2-9");
	check_jobs("4/a", "auto", "4");
	check_jobs("a", "/a/file", "none");
}

// The words of the worker's command, each in <>.
static void check_argv(const char *machine, bool is_launch, const struct sshlogin_worker *worker, const char *expected) {
	struct sshlogins list = SSHLOGINS_INIT;
	struct buf words = BUF_INIT, out = BUF_INIT;
	char *error = NULL;
	check((is_launch ? sshlogins_add_launch(&list, NULL, 0, machine, &error) : sshlogins_add(&list, machine, false, read_text, NULL, &error)) == 0);
	if (sshlogin_argv(&list.logins[0], worker, &words, &error) != 0) {
		buf_adds(&out, error);
		free(error);
	}
	for (size_t at = 0; at < words.len; at += strlen(words.data + at) + 1) {
		buf_printf(&out, "<%s>", words.data + at);
	}
	check_string(buf_str(&out), expected);
	buf_fini(&words);
	buf_fini(&out);
	sshlogins_fini(&list);
}

#define RUN(words) "exec sh -c 'go() { exec \"$1\" --worker" words "; }; p="
#define FIND(program) "\"" program "\"; command -v \"$p\" >/dev/null 2>&1 && go \"$p\"; "
#define NONE(program) "echo \"fairpar: no " program " on this machine\" >&2; exit 127'>"
#define FAIRPAR(words) RUN(words) FIND("fairpar") NONE("fairpar")

static void test_argv(void) {
	struct sshlogin_worker worker = {.self = "/usr/bin/fairpar"};
	unsetenv("PARALLEL_SSH");
	check_argv("a", false, &worker, "<ssh><a><--><" FAIRPAR(""));
	check_argv("4/u@b:22", false, &worker, "<ssh><-p><22><-l><u><b><--><" FAIRPAR(" -j 4"));
	check_argv("ssh -x b", false, &worker, "<ssh><-x><b><--><" FAIRPAR(""));
	check_argv("ssh -i ~/k b", false, &worker, "<sh><-c><exec ssh -i ~/k \"$@\"><ssh><b><--><" FAIRPAR(""));
	worker = (struct sshlogin_worker){.ssh = "rsh -n", .jobs = "50%", .term_seq = "15,200,9,25", .self = "/usr/bin/fairpar"};
	check_argv("a", false, &worker, "<rsh><-n><a><--><" FAIRPAR(" -j 50% --term-seq 15,200,9,25"));
	check_argv("flux run {} x", true, &worker, "<sh><-c><exec flux run /usr/bin/fairpar --worker -j 50% --term-seq 15,200,9,25 x>");
	setenv("PARALLEL_SSH", "dropbear", 1);
	worker = (struct sshlogin_worker){.program = "~/bin/fairpar", .self = "/usr/bin/fairpar"};
	check_argv("a", false, &worker, "<dropbear><a><--><" RUN("") FIND("$HOME/bin/fairpar") NONE("~/bin/fairpar"));
	worker.program = NULL;
	check_argv("a", false, &worker, "<dropbear><a><--><" FAIRPAR(""));
	worker.program = "fair par";
	check_argv("a", false, &worker, "$FAIRPAR_REMOTE may have letters, digits and '_./+,:@%-', not 'fair par'");
	worker = (struct sshlogin_worker){.self = "/my dir/fairpar"};
	check_argv("flux {}", true, &worker, "--launch cannot name this fairpar's path, '/my dir/fairpar': set $FAIRPAR_REMOTE");
}

// Each login shell that is here runs the remote command alike.
static void test_login_shells(void) {
	static const char *const shells[] = {"sh", "dash", "bash", "zsh", "ksh", "tcsh", "csh", "fish"};
	char dir[] = "/tmp/sshlogin.XXXXXX";
	check(mkdtemp(dir) != NULL);
	struct buf line = BUF_INIT, words = BUF_INIT;
	buf_printf(&line, "%s/fairpar", dir);
	char *program = xstrdup(buf_str(&line));
	FILE *file = fopen(program, "w");
	check(file && fputs("#!/bin/sh\necho \"ran $*\"\n", file) >= 0 && fclose(file) == 0 && chmod(program, 0755) == 0);
	struct sshlogins list = SSHLOGINS_INIT;
	struct sshlogin_worker worker = {.program = program, .ssh = "ssh"};
	char *error;
	check(sshlogins_add(&list, "3/a", false, read_text, NULL, &error) == 0);
	check(sshlogin_argv(&list.logins[0], &worker, &words, &error) == 0);
	const char *remote = words.data + words.len - 1; // the last word
	while (remote[-1]) {
		--remote;
	}
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); ++i) {
		struct buf out = BUF_INIT;
		buf_reset(&line);
		buf_printf(&line, "%s\n", remote);
		if (shell_run(shells[i], &line, &out)) {
			check_string(buf_str(&out), "ran --worker -j 3\n");
		}
		buf_fini(&out);
	}
	check(unlink(program) == 0 && rmdir(dir) == 0);
	free(program);
	buf_fini(&line);
	buf_fini(&words);
	sshlogins_fini(&list);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a machine has its parts", test_one),
		TEST("IPv6 addresses are read in all forms that GNU parallel takes", test_ipv6),
		TEST("lists end at commas and newlines, and have each machine once", test_lists),
		TEST("groups leave the machines that are in one of them", test_groups),
		TEST("what is no machine is refused with the reason", test_refused),
		TEST("files have comments, blank lines and lists", test_files),
		TEST("each --launch is a machine", test_launch),
		TEST("the worker's -j follows N/ and --jobs", test_jobs),
		TEST("the command line is ssh's, and no shell takes it for more", test_argv),
		TEST("every login shell runs the remote command", test_login_shells),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
