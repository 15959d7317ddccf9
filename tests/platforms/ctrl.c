// Runs a program in a console of its own, and sends Ctrl-C when a file appears: `ctrl FILE COMMAND...`. Exits with the program's exit code.
#include <stdio.h>
#include <wchar.h>
#include <windows.h>

static int failed(const char *what) {
    fprintf(stderr, "ctrl: couldn't %s: error %lu\n", what, GetLastError());
    return 2;
}

int wmain(int count, wchar_t **arguments) {
    if (count < 3) return failed("run without a file and a command");
    // What follows the file on the command line; the names of this program and the file contain no quotes.
    wchar_t *command = wcsstr(GetCommandLineW() + wcslen(arguments[0]), arguments[1]) + wcslen(arguments[1]);
    while (*command == L' ' || *command == L'"') command++;

    STARTUPINFOW start = {.cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES};
    start.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    start.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    start.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    FreeConsole();
    if (!AllocConsole()) return failed("open a console");
    PROCESS_INFORMATION process;
    if (!CreateProcessW(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &start, &process)) return failed("start the command");
    // The event is for the command only.
    SetConsoleCtrlHandler(NULL, TRUE);
    while (WaitForSingleObject(process.hProcess, 50) == WAIT_TIMEOUT)
        if (DeleteFileW(arguments[1]) && !GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0)) return failed("send Ctrl-C");
    DWORD code = 2;
    GetExitCodeProcess(process.hProcess, &code);
    return (int) code;
}
